"""The pretty language: rules in English words."""

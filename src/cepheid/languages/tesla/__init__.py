"""TESLA: rules with a terminator, selection and consumption policies, aggregates (T-Rex)."""

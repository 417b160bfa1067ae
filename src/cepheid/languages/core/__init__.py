"""The core composite event language: regular expressions over events, with domains and timers."""

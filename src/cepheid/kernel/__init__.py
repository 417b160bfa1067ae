"""The kernel: rules as tables, state as arrays, matching as compiled loops.

Nothing here knows a language. Deploying a rule fills tables and compiles nothing.
"""

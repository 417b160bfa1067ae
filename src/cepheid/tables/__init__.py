"""Tables of events in, tables of composite events out, without a Python object per event.

Nothing here is imported by `import cepheid` alone: numpy and pyarrow come with the first table.
"""

"""
The nodes, one program a module, each with its contract as its docstring.

A callback stores; a timer makes one call into the core and publishes. They may import the rest of
`ros` and every room that it may.
"""

"""
What happened: the `log` of a simulation, its files (`log_files`, `mcap`), `plots` and `animation`.

`segments` are the stretches between structure changes, `tracks` where everything was, `shapes` and
`picture` what an animation is painted with.
"""

"""
What happened: the `log` of a simulation, its files (`log_files`, `mcap`), `plots`, `animation`.

`events` are the structure changes that a log has, `segments` the stretches between them, `tracks`
where everything was, `shapes`, `picture`, `raster`, `colours` what an animation is painted with;
`terminal` and `html` are how text is written for people. What is kept or shown of a run lives
here, and nothing that makes one. It may import `assembly`, `dynamics` and the rooms below them;
matplotlib and rosbags inside functions only.
"""

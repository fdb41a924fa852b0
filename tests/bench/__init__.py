"""What the work costs: each figure is a ratio to a floor that is measured in the same run.

`python -m tests.bench` prints all of them; each module also runs alone.
"""

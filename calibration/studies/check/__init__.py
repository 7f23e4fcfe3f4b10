"""The check study: a frozen floor against today: the live system, or another finished run.

Nothing that makes a calibration imports this; what a run records for it is in `studies.fingerprint` and
`studies.snapshot`.
"""

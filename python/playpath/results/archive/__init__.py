"""An experiment in one file (`playpath export`), and the check that its results can still be reproduced (`playpath verify`).

An archive is a ZIP file: `archive.json` (kind, versions, SHA-256 of every other file), `question.json` (what to run, including every
trace and manifest), `results/` (the folder that compare, sweep or population wrote), `tables/` (the same tables as CSV).
"""

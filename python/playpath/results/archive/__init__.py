"""An experiment in one file (`playpath export`), and the check that it says the same today (`playpath verify`).

An archive is a ZIP file: `archive.json` (what it is, the versions, SHA-256 of every other file), `question.json` (what to run, with
every trace and manifest inside), `results/` (the folder that compare, sweep or population wrote), `tables/` (the same as CSV).
"""

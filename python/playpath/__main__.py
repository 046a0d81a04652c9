"""`python -m playpath`."""

from playpath.cli import main

main()

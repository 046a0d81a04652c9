"""`playpath demo`: six senders on a lossy wireless path."""

from pathlib import Path

from playpath.cli.commands import compare

_CC = "cubic,compound,ccp,ccplb,vegas,bbr"


def command() -> None:
    """Rank six senders on the shipped scenario `wireless` and write a report, by default out/wireless/report.html."""
    compare.command(Path("wireless"), cc=_CC)

"""Whether the inferred paths reproduce the log: before any verdict.

`infer` plays the deployed sender on draws of each session's path, from the sizes and moments of the log alone, and notes how the
replayed times stand to the log's (`crates/infer/src/replay.rs`). Here that becomes a judgement: where today is not reproduced there
is none about tomorrow.
"""

import csv
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from playpath.base.errors import InputError
from playpath.base.files import read_text

_Row = Mapping[str, str]

_OFF = 0.1
"""A session whose transfers take longer or shorter by this share in nineteen of twenty replays is not reproduced."""
_UNEXPLAINED = 20.0
_HELD = 75.0
"""Nor is one of whose transfers so many percent fit no rate, and fewer than so many percent lie in the replay's 90 % intervals (of 23 times
of a valid session, 17 or fewer do in one of forty). On a link whose rate changes every second many times fit no rate, and are reproduced.
"""
_HALF = 0.5
"""From this probability on a session is taken to be beside a neighbour."""
_MOST = 0.2
"""Share of sessions that may fail."""
_FEW = 3
"""From so many sessions on one may fail, however few they are."""
_LIKELIER = 5.0
"""Logarithm of the likelihood ratio, over all sessions in which a rival was tried, from which the rival was deployed."""
_BEYOND = 1.0
"""And so many standard errors beyond nothing: valid sessions differ by e³ and more in which sender explains them better."""
_MOST_LIKELIER = 10.0
"""What one session counts for at most: one that fits neither sender decides nothing for the others."""
_OTHER = 0.5
"""Under a rival a session has another path if its rate is off by `_OFF`, or the probability of random loss or of a neighbour by this."""
_WIDE = 2.0
"""Median 90 % interval of the rate, as a factor, from which on the log itself is what leaves a question open."""


@dataclass(frozen=True)
class Replay:
    """Today, played again."""

    sessions: int
    slower: int
    faster: int
    unexplained: int
    """Of `sessions` those whose replay takes too long, too short; those with transfers that fit no rate."""
    failed: int
    ratio: float
    """Median over sessions of replayed over logged time."""
    held: float
    """Median share of a session's times inside the replay's 90 % interval."""
    width: float
    """Median over sessions of 95 % over 5 % of the rate."""
    likelier: str = ""
    """A sender that explains the sessions far better than the one that was named; empty: none does."""
    has_other_paths: bool = False
    """And reads other paths from them. Where it does not, as where the link alone says how long a transfer takes, a verdict on these
    paths is the same whichever of the two was deployed."""

    @property
    def is_reproduced(self) -> bool:
        """Few enough sessions fail, and no other sender explains them far better by other paths."""
        return self.failed <= _may_fail(self.sessions) and not (self.likelier and self.has_other_paths)

    @property
    def leaves_open(self) -> bool:
        """The log does not say much of its paths."""
        return self.width > _WIDE

    def lines(self) -> list[str]:
        """What to tell."""
        sentences = [
            f"{self.sessions - self.failed} of {self.sessions} sessions are reproduced: replayed over logged time {self.ratio:.3f} "
            f"(median); {100 * self.held:.0f} % of the times lie in the replay's 90 % intervals"
        ]
        why = {
            "take longer in the replay: the deployed sender was faster after pauses, or the control is another": self.slower,
            "take less time in the replay: losses, a neighbour, pauses of the server, or the control is another": self.faster,
            "have many times that fit no rate: a limit of the application, pauses, or another control": self.unexplained,
        }
        sentences += [f"{count} sessions {what}" for what, count in why.items() if count]
        if self.likelier:
            paths = "other paths" if self.has_other_paths else "the same paths, so the verdict does not depend on it"
            sentences.append(
                f"{self.likelier} explains the sessions in which it was tried far better than the sender that was named, by {paths}"
            )
        if not self.is_reproduced:
            sentences.append(
                "today is not reproduced, so there is no verdict: name the deployed sender (--sender), or log TCP_INFO"
            )
        return sentences


def judge(folder: Path) -> Replay:
    """Judge what `infer` wrote."""
    texts = [_text(folder, name) for name in ("sessions.csv", "rivals.csv")]
    try:
        return _judged(*(list(csv.DictReader(text.splitlines())) for text in texts))
    except (KeyError, TypeError, ValueError, ArithmeticError, csv.Error):  # of no rows no median is a ValueError
        raise InputError(
            f"{folder}: sessions.csv or rivals.csv is damaged; playpath population infer LOG… --out {folder} writes them again"
        ) from None


def _judged(rows: Sequence[_Row], rivals: Sequence[_Row]) -> Replay:
    """What the rows of both tables say together."""
    ratios = [float(row["replay_time_ratio"]) for row in rows]
    # Beside a neighbour the link is the one that gives the session's time back, and who gets how much of it is luck: the time says nothing.
    alone = [float(row["neighbour_probability"]) <= _HALF for row in rows]
    slower = [own and float(row["replay_time_ratio_p05"]) > 1 + _OFF for own, row in zip(alone, rows, strict=True)]
    faster = [own and float(row["replay_time_ratio_p95"]) < 1 - _OFF for own, row in zip(alone, rows, strict=True)]
    odd = [
        float(row["unexplained_percent"]) > _UNEXPLAINED and float(row["replay_held_percent"]) < _HELD for row in rows
    ]
    likelier, has_other_paths = _likelier(rivals, {row["session"]: row for row in rows})
    return Replay(
        sessions=len(rows),
        slower=sum(slower),
        faster=sum(faster),
        unexplained=sum(odd),
        failed=sum(map(any, zip(odd, slower, faster, strict=True))),
        ratio=statistics.median(ratios),
        held=statistics.median(float(row["replay_held_percent"]) / 100 for row in rows),
        width=statistics.median(float(row["rate_p95_over_p05"]) for row in rows),
        likelier=likelier,
        has_other_paths=has_other_paths,
    )


def _text(folder: Path, name: str) -> str:
    file = folder / name
    if not file.is_file():
        raise InputError(f"{folder}: has no {name}; playpath population infer LOG… --out {folder} writes it")
    return read_text(file)


def _may_fail(sessions: int) -> float:
    """Of so many sessions."""
    return max(1 if sessions >= _FEW else 0, _MOST * sessions)


def _likelier(tried: Sequence[_Row], own: Mapping[str, _Row]) -> tuple[str, bool]:
    """The likeliest rival, if it explains the sessions together far better, by more than they differ; and whether by other paths."""
    by: dict[str, list[float]] = {}
    for row in tried:
        likelier_by = max(-_MOST_LIKELIER, min(_MOST_LIKELIER, float(row["likelier_by"])))
        by.setdefault(row["rival"], []).append(likelier_by)
    name = max(by, key=lambda rival: sum(by[rival]), default="")
    found = by.get(name, [])
    error = statistics.stdev(found) * math.sqrt(len(found)) if len(found) > 1 else 0.0
    if sum(found) < max(_LIKELIER, _BEYOND * error):
        return "", False
    others = sum(_is_other(row, own[row["session"]]) for row in tried if row["rival"] == name)
    return name, others > _may_fail(len(found))


def _is_other(path: _Row, named: _Row) -> bool:
    rates = float(path["rate_mbps"]) / float(named["rate_mbps"])
    off = (abs(float(path[what]) - float(named[what])) for what in ("loss_probability", "neighbour_probability"))
    return abs(math.log(rates)) > _OFF or max(off) > _OTHER

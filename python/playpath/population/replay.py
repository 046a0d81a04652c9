"""Judges whether the inferred paths reproduce the log, before any verdict.

`infer` plays the deployed sender on draws of each session's path, using only the sizes and request times of the log, and notes how
the replayed times compare with the log's (`crates/infer/src/replay.rs`). If the deployed sender's times are not reproduced, there is
no verdict about other senders.
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
"""A session is not reproduced if its transfers take longer (or shorter) by this share in nineteen of twenty replays."""
_UNEXPLAINED = 20.0
_HELD = 75.0
"""Nor is it reproduced if more than `_UNEXPLAINED` per cent of its transfers fit no rate and fewer than `_HELD` per cent lie in the
replay's 90 % intervals (of 23 times of a valid session, 17 or fewer do in one of forty). Both are required because on a link whose
rate changes every second many times fit no rate and are reproduced all the same.
"""
_HALF = 0.5
"""Above this probability, a session is taken to share its link with a neighbour. Neither its time nor its rivals then say which sender was
deployed: in 20 drawn logs a rival was far likelier than the deployed sender in 12, and than a wrongly named one in 8.
"""
_MAX = 0.2
"""The share of sessions that may fail."""
_FEW = 3
"""From so many sessions on, at least one may fail."""
_LIKELIER = 5.0
"""Log likelihood ratio, over all sessions in which a rival was tried, from which on the rival is taken to have been deployed."""
_BEYOND = 3.0
"""It must also exceed zero by so many standard errors: the ratio varies by a factor of e³ and more between valid sessions. With one
error two of nine valid logs of mobile viewers under BBR and BBRv3 are taken for another sender's, with three one is; of 73 logs under a
wrong name the same 37 are refused.
"""
_MAX_LIKELIER = 10.0
"""Limit of a single session's contribution, so that one that fits neither sender does not decide for the others."""
_OTHER = 0.5
"""A rival implies another path if the rate differs by `_OFF`, or the probability of random loss or of a neighbour by this."""
_WIDE = 2.0
"""Median 90 % interval of the rate, as a factor, above which the log itself may be why a question stays open."""


@dataclass(frozen=True)
class Replay:
    """The comparison of the log with its replay by the deployed sender."""

    sessions: int
    slower: int
    faster: int
    unexplained: int
    """Number of sessions whose replay takes too long (`slower`) or too short (`faster`); and with transfers that fit no rate."""
    failed: int
    ratio: float
    """Median over sessions of replayed divided by logged time."""
    held: float
    """Median share of a session's times inside the replay's 90 % interval."""
    width: float
    """Median over sessions of the rate's 95 % quantile divided by its 5 % quantile."""
    shared: int = 0
    """Number of sessions that share their link with a neighbour's transfer, which say nothing about the sender."""
    likelier: str = ""
    """A sender that explains the sessions far better than the named one; empty if there is none."""
    has_other_paths: bool = False
    """Whether that sender also implies other paths. If it does not, for instance because only the link determines how long a
    transfer takes, a verdict on these paths is the same whichever of the two was deployed."""

    @property
    def is_reproduced(self) -> bool:
        """Whether few enough sessions fail, and no other sender explains them far better with other paths."""
        return self.failed <= _may_fail(self.sessions) and not (self.likelier and self.has_other_paths)

    @property
    def hides_sender(self) -> bool:
        """Whether so many sessions share their link that the log may not show which sender was deployed."""
        return self.shared > _may_fail(self.sessions)

    @property
    def leaves_open(self) -> bool:
        """Whether the log says too little about its paths."""
        return self.width > _WIDE

    def lines(self) -> list[str]:
        """The result in sentences."""
        sentences = [
            f"{self.sessions - self.failed} of {self.sessions} sessions are reproduced: replayed / logged time {self.ratio:.3f} "
            f"(median); {100 * self.held:.0f} % of the times lie in the replay's 90 % intervals"
        ]
        why = {
            "take longer in the replay: the deployed sender was faster after pauses, or another control was deployed": self.slower,
            "take less time in the replay: losses, a neighbour, pauses of the server, or another control was deployed": self.faster,
            "have many times that fit no rate: an application limit, pauses, or another control": self.unexplained,
        }
        sentences += [f"{count} sessions {what}" for what, count in why.items() if count]
        if self.shared:
            sentences.append(
                f"{self.shared} sessions share their link with a neighbour's transfer and do not show whether the named sender was deployed"
            )
        if self.likelier:
            paths = "other paths" if self.has_other_paths else "the same paths, so the verdict does not depend on it"
            sentences.append(
                f"{self.likelier} explains the sessions in which it was tried far better than the named sender, with {paths}"
            )
        if not self.is_reproduced:
            sentences.append(
                "the log is not reproduced, so there is no verdict: name the deployed sender (--sender), or log TCP_INFO"
            )
        return sentences


def judge(folder: Path) -> Replay:
    """Judge the results of `infer` in a folder."""
    texts = [_text(folder, name) for name in ("sessions.csv", "rivals.csv")]
    try:
        return _judged(*(list(csv.DictReader(text.splitlines())) for text in texts))
    except (
        KeyError,
        TypeError,
        ValueError,
        ArithmeticError,
        csv.Error,
    ):  # the median of no rows is a StatisticsError, a ValueError
        raise InputError(
            f"{folder}: sessions.csv or rivals.csv is damaged; write them again with playpath population infer LOG… --out {folder}"
        ) from None


def _judged(rows: Sequence[_Row], rivals: Sequence[_Row]) -> Replay:
    """Judge the rows of both tables together."""
    ratios = [float(row["replay_time_ratio"]) for row in rows]
    # With a neighbour the inferred link is one that reproduces the session's time, and how the two share it is chance.
    alone = [float(row["neighbour_probability"]) <= _HALF for row in rows]
    telling = {row["session"]: row for own, row in zip(alone, rows, strict=True) if own}
    slower = [own and float(row["replay_time_ratio_p05"]) > 1 + _OFF for own, row in zip(alone, rows, strict=True)]
    faster = [own and float(row["replay_time_ratio_p95"]) < 1 - _OFF for own, row in zip(alone, rows, strict=True)]
    odd = [
        float(row["unexplained_percent"]) > _UNEXPLAINED and float(row["replay_held_percent"]) < _HELD for row in rows
    ]
    likelier, has_other_paths = _likelier([row for row in rivals if row["session"] in telling], telling)
    return Replay(
        sessions=len(rows),
        slower=sum(slower),
        faster=sum(faster),
        unexplained=sum(odd),
        failed=sum(map(any, zip(odd, slower, faster, strict=True))),
        ratio=statistics.median(ratios),
        held=statistics.median(float(row["replay_held_percent"]) / 100 for row in rows),
        width=statistics.median(float(row["rate_p95_over_p05"]) for row in rows),
        shared=len(rows) - len(telling),
        likelier=likelier,
        has_other_paths=has_other_paths,
    )


def _text(folder: Path, name: str) -> str:
    file = folder / name
    if not file.is_file():
        raise InputError(f"{folder}: has no {name}; write it with playpath population infer LOG… --out {folder}")
    return read_text(file)


def _may_fail(sessions: int) -> float:
    """How many of so many sessions may fail."""
    return max(1 if sessions >= _FEW else 0, _MAX * sessions)


def _likelier(tried: Sequence[_Row], own: Mapping[str, _Row]) -> tuple[str, bool]:
    """The likeliest rival, if it explains these sessions together far better, beyond their variation; and whether with other paths."""
    by: dict[str, list[float]] = {}
    for row in tried:
        likelier_by = max(-_MAX_LIKELIER, min(_MAX_LIKELIER, float(row["likelier_by"])))
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

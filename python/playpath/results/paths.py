"""What the paths of an MPTCP flow carried: subflows, runs of packets between switches, and the scheduler's reasons."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from playpath.results.record import Columns, Session

_SHOWN_RUNS = 44


@dataclass(frozen=True)
class Run:
    """Consecutive packets of new data on one path."""

    path: str
    begin_s: float
    end_s: float
    packets: float
    reason: str
    is_forced: bool


def subflows(session: Session) -> dict[str, Columns]:
    """The series of the video's subflows by path; empty if it has one path."""
    prefix = "flow.video/"
    return {k.removeprefix(prefix): v for k, v in session.series.items() if k.startswith(prefix)}


def runs(session: Session) -> list[Run]:
    """The runs between switches of the video's flow; the packets before the first and after the last switch are left out."""
    switches = session.series.get("switches.video")
    if switches is None:
        return []
    columns = zip(
        *(switches[k] for k in ("time_s", "to", "reason", "is_forced", "last_before_s", "data_offset")), strict=True
    )
    rows = [(float(t), str(to), str(why), bool(f), float(last), int(at)) for t, to, why, f, last, at in columns]
    mss = int(switches["mss"][0]) if rows else 1
    return [
        Run(to, begin, last, (after - at) / mss, why, forced)
        for (begin, to, why, forced, _, at), (_, _, _, _, last, after) in pairwise(rows)
    ]


def shown_runs(session: Session) -> list[Run]:
    """Some runs around the first unforced switch in the middle half, otherwise around the middle."""
    found = runs(session)
    quarter, middle = len(found) // 4, len(found) // 2
    centre = next((i for i in range(quarter, 3 * quarter) if not found[i].is_forced), middle)
    first = max(0, min(centre - _SHOWN_RUNS // 2, len(found) - _SHOWN_RUNS))
    return found[first : first + _SHOWN_RUNS]


def switch_reasons(session: Session) -> list[tuple[str, int, int]]:
    """(reason, switches from a path without room, switches from a path with room), the most frequent first."""
    switches = session.series.get("switches.video")
    if switches is None:
        return []
    reasons, forced = np.asarray(switches["reason"], dtype=str), np.asarray(switches["is_forced"], dtype=bool)
    counts = [
        (str(why), int(np.sum(forced & (reasons == why))), int(np.sum(~forced & (reasons == why))))
        for why in set(reasons)
    ]
    return sorted(counts, key=lambda row: (-row[1] - row[2], row[0]))


def binned_goodput(columns: Columns, edges: np.ndarray) -> np.ndarray:
    """Mean goodput in each bin; zero if there is no sample."""
    time_s, rate = np.asarray(columns["time_s"], dtype=float), np.asarray(columns["goodput_mbps"], dtype=float)
    index = np.clip(np.searchsorted(edges, time_s, side="right") - 1, 0, len(edges) - 2)
    total, samples = (np.bincount(index, weights=w, minlength=len(edges) - 1) for w in (rate, np.ones_like(rate)))
    return np.divide(total, samples, out=np.zeros_like(total), where=samples > 0)

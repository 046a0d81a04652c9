"""How late emulated links handed packets over, as an error bar on the RTT, and whether the verdict survives it.

A link on the wall clock hands a packet over when its time has come, or later where the machine was busy. What it was late
lengthens round trips: a mean RTT of the kernel world is too long by up to the sum of both ways, and a queueing delay with
it. Whether this turned the answer is asked twice, and both times nobody who is proven to be worse than the best may get
ahead of it: with each session's lateness taken off its mean RTT, and over the half of the seeds whose links were the most
punctual. The second shows what lateness does to everything else that is measured; being over half of the seeds it proves
nothing by itself, and asks for the order alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from playpath.base.frames import pl
from playpath.judge.ranking import Decision, Ranker

Columns = Mapping[str, Mapping[str, list[float | None]]]

_RTT = "mean_rtt_ms"
_LATE = "mean_lateness_ms"


@dataclass(frozen=True)
class Lateness:
    """What the links' lateness added to round trips."""

    added_rtt_ms: Mapping[str, float]
    """By sender, mean over its sessions: both ways of the path that was the latest."""
    beaten: Sequence[str]
    """Senders that the best has beaten; without any there is no verdict to survive."""
    turned: Sequence[str]
    """Those of them that are no longer behind it when lateness is taken away."""

    @property
    def warning(self) -> str:
        """One line for the reader of the result."""
        low, high = (f"{end(self.added_rtt_ms.values()):.2g}" for end in (min, max))
        much = high if low == high else f"{low} to {high}"
        bar = f"the links' lateness added {much} ms to a round trip, by sender: RTTs are too long by up to that"
        if self.turned:
            return f"{bar}; the verdict does not survive it for {', '.join(self.turned)}: play it on a machine with less to do"
        return f"{bar}; the verdict survives it" if self.beaten else bar

    def to_dict(self) -> dict[str, object]:
        return {
            "added_rtt_ms": dict(self.added_rtt_ms),
            "turned": list(self.turned),
            "verdict_survives": not self.turned if self.beaten else None,
        }


def lateness(links: pl.DataFrame, columns: Columns, ranker: Ranker, decision: Decision) -> Lateness | None:
    """Of a comparison; None where no link has a clock that could be late.

    Args:
        links: A row for each link of each session: `sender`, `seed`, `name`, and `mean_lateness_ms` of the ways of
            paths.
        columns: By sender its metrics, one value a seed, by ascending seed.
        ranker, decision: Over all of them.
    """
    if _LATE not in links.columns:
        return None
    added = _added(links)
    late = {sender: added.filter(sender=sender).sort("seed")["added"].to_list() for sender in columns}
    corrected = {sender: _corrected(columns[sender], late[sender]) for sender in columns}
    best, beaten = decision.ranking[0], decision.beaten
    whole = ranker.among(corrected).decide()
    order = ranker.among(_punctual(corrected, late)).decide().ranking
    turned = [
        s for s in beaten if s not in whole.beaten or whole.ranking[0] != best or order.index(s) < order.index(best)
    ]
    return Lateness({sender: sum(values) / len(values) for sender, values in late.items()}, beaten, turned)


def _added(links: pl.DataFrame) -> pl.DataFrame:
    """What each session's links added to a round trip: `sender`, `seed`, `added`."""
    paths = links.filter(pl.col(_LATE).is_not_null()).with_columns(path=pl.col("name").str.replace("/(down|up)$", ""))
    ways = paths.group_by("sender", "seed", "path").agg(added=pl.col(_LATE).sum())
    return ways.group_by("sender", "seed").agg(pl.col("added").max())


def _corrected(metrics: Mapping[str, list[float | None]], late: Sequence[float]) -> dict[str, list[float | None]]:
    found = dict(metrics)
    if _RTT in found:
        found[_RTT] = [rtt and rtt - by for rtt, by in zip(found[_RTT], late, strict=True)]
    return found


def _punctual(columns: Columns, late: Mapping[str, Sequence[float]]) -> dict[str, dict[str, list[float | None]]]:
    """The half of the seeds that all played whose links were the least late, all senders' together."""
    totals = [sum(values) for values in zip(*late.values(), strict=False)]
    kept = sorted(sorted(range(len(totals)), key=totals.__getitem__)[: (len(totals) + 1) // 2])
    return {s: {name: [column[i] for i in kept] for name, column in c.items()} for s, c in columns.items()}

"""How late emulated links handed packets over, as an error bar on the RTT, and whether the verdict survives it.

An emulated link in real time delivers a packet when it is due, or later if the machine is busy. Lateness lengthens round trips:
a mean RTT in the kernel world, and the queueing delay computed from it, is too long by up to the lateness of both directions
together. Two checks show whether that changed the answer; in each, no sender that is proven worse than the best may come out
ahead of it. The first subtracts each session's lateness from its mean RTT. The second takes the half of the seeds whose links
were the most punctual: it also covers the effect of lateness on everything else that is measured, but since it has only half
of the seeds, it compares the order alone and proves nothing by itself.
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
    """How much the links' lateness added to round trips, and whether the verdict survives it."""

    added_rtt_ms: Mapping[str, float]
    """Sender → mean over its sessions of the lateness of both directions of the latest path."""
    beaten: Sequence[str]
    """Senders that are proven worse than the best; without any there is no verdict that could be lost."""
    turned: Sequence[str]
    """Those of them that are no longer behind the best once lateness is removed."""

    @property
    def warning(self) -> str:
        """One line for the reader of the result."""
        low, high = (f"{end(self.added_rtt_ms.values()):.2g}" for end in (min, max))
        much = high if low == high else f"{low} to {high}"
        bar = f"the links' lateness added {much} ms to a round trip, depending on the sender: RTTs are too long by up to that"
        if self.turned:
            return f"{bar}; the verdict does not survive it for {', '.join(self.turned)}: run it again on a less busy machine"
        return f"{bar}; the verdict survives it" if self.beaten else bar

    def to_dict(self) -> dict[str, object]:
        return {
            "added_rtt_ms": dict(self.added_rtt_ms),
            "turned": list(self.turned),
            "verdict_survives": not self.turned if self.beaten else None,
        }


def lateness(links: pl.DataFrame, columns: Columns, ranker: Ranker, decision: Decision) -> Lateness | None:
    """The lateness of a comparison's links; None if no link runs in real time.

    Args:
        links: A row for each link of each session: `sender`, `seed`, `name`, and, for the directions of paths,
            `mean_lateness_ms`.
        columns: Sender → metric → one value a seed, by ascending seed.
        ranker, decision: Those of the whole comparison.
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
    """How much each session's links added to a round trip (ms): columns `sender`, `seed`, `added`."""
    paths = links.filter(pl.col(_LATE).is_not_null()).with_columns(path=pl.col("name").str.replace("/(down|up)$", ""))
    ways = paths.group_by("sender", "seed", "path").agg(added=pl.col(_LATE).sum())
    return ways.group_by("sender", "seed").agg(pl.col("added").max())


def _corrected(metrics: Mapping[str, list[float | None]], late: Sequence[float]) -> dict[str, list[float | None]]:
    found = dict(metrics)
    if _RTT in found:
        found[_RTT] = [rtt and rtt - by for rtt, by in zip(found[_RTT], late, strict=True)]
    return found


def _punctual(columns: Columns, late: Mapping[str, Sequence[float]]) -> dict[str, dict[str, list[float | None]]]:
    """Of the seeds that all senders played, the half with the least lateness, summed over senders."""
    totals = [sum(values) for values in zip(*late.values(), strict=False)]
    kept = sorted(sorted(range(len(totals)), key=totals.__getitem__)[: (len(totals) + 1) // 2])
    return {s: {name: [column[i] for i in kept] for name, column in c.items()} for s, c in columns.items()}

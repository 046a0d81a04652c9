"""How the scenario's other traffic fares next to each sender."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from playpath.base.frames import pl
from playpath.results.costs import is_viewers


@dataclass(frozen=True)
class Neighbours:
    """The other flows of the sessions of a sender, all together."""

    sender: str
    goodput_mbps: float
    """Total of all of them in a session, averaged over sessions."""
    loss_ratio: float
    """Share of their sent packets that were lost or dropped."""

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def neighbours(table: pl.DataFrame, flows: pl.DataFrame) -> list[Neighbours]:
    """One for each sender whose sessions had other flows, in the order of `table`."""
    if not {"sent_packets", "loss_ratio"} <= set(flows.columns) or "neighbours_goodput_mbps" not in table.columns:
        return []
    others = flows.filter(~is_viewers() & (pl.col("sent_packets") > 0))
    lost = (pl.col("loss_ratio") * pl.col("sent_packets")).sum() / pl.col("sent_packets").sum()
    goodput = table.group_by("sender", maintain_order=True).agg(pl.col("neighbours_goodput_mbps").mean())
    found = goodput.join(others.group_by("sender").agg(lost.alias("lost")), on="sender", maintain_order="left")
    return [Neighbours(*row) for row in found.drop_nulls().iter_rows()]

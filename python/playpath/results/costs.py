"""What an hour of video costs a sender: bytes sent, those sent again, and money."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from playpath.base.frames import pl

_HOUR_S = 3600


def is_viewers() -> pl.Expr:
    """Of flows: those of the viewer's own connections, as a record calls them (`video`, then `video.2` and so on)."""
    return pl.col("name").str.contains(r"^video(\.\d+)?$")


@dataclass(frozen=True)
class HourlyCost:
    """For each hour of video shown, over all sessions of a sender."""

    sender: str
    sent_gb: float
    retransmitted_gb: float
    """Gigabytes (10^9) in data packets, headers included, that left the server (`sent_gb`), and of these what was sent again."""
    price: float | None = None
    """Of what was sent, where a price for a gigabyte is given."""

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def hourly_costs(table: pl.DataFrame, flows: pl.DataFrame, price_per_gb: float | None) -> list[HourlyCost]:
    """Of each sender that showed any video, in the order of `table`."""
    if "played_s" not in table.columns or "sent_packets" not in flows.columns:
        return []
    # A flow's throughput is what arrived, so a packet's mean size follows from those that were not dropped.
    arrived = pl.col("throughput_mbps") * (pl.col("end_s") - pl.col("start_s")) * (1e6 / 8)
    size = arrived / (pl.col("sent_packets") * (1 - pl.col("loss_ratio")))
    sizes = flows.filter(is_viewers() & (pl.col("sent_packets") > 0) & (pl.col("loss_ratio") < 1))
    sums = sizes.group_by("sender").agg(
        (size * pl.col("sent_packets")).sum().alias("sent"),
        (size * pl.col("retransmitted_packets")).sum().alias("again"),
    )
    shown = table.group_by("sender", maintain_order=True).agg(pl.col("played_s").sum())
    found = []
    for sender, played_s, sent, again in shown.join(sums, on="sender", how="left", maintain_order="left").iter_rows():
        if played_s > 0 and sent is not None:
            per_hour = _HOUR_S / played_s / 1e9
            price = None if price_per_gb is None else sent * per_hour * price_per_gb
            found.append(HourlyCost(sender, sent * per_hour, again * per_hour, price))
    return found

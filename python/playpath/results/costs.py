"""The cost of an hour of video for each sender: bytes sent, bytes retransmitted, and money."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from playpath.base.frames import pl

_HOUR_S = 3600


def is_viewers() -> pl.Expr:
    """Filter for flows of the viewer's own connections, which a record names `video`, `video.2` and so on."""
    return pl.col("name").str.contains(r"^video(\.\d+)?$")


@dataclass(frozen=True)
class HourlyCost:
    """Cost for each hour of video shown, over all sessions of a sender."""

    sender: str
    sent_gb: float
    retransmitted_gb: float
    """Gigabytes (10^9) in data packets, headers included, that left the server, and those of them that were retransmitted."""
    price: float | None = None
    """Price of the sent bytes, if a price per gigabyte is given."""

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def hourly_costs(table: pl.DataFrame, flows: pl.DataFrame, price_per_gb: float | None) -> list[HourlyCost]:
    """The costs of each sender that showed any video, in the order of `table`."""
    if "played_s" not in table.columns or "sent_packets" not in flows.columns:
        return []
    # A flow's throughput counts what arrived, so the mean packet size is computed from the packets that were not dropped.
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

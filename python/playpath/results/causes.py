"""What may have limited a sender's rate, in one line of measurements: how busy its path was, what was lost there and where, who shared it.

Measurements, not causes: without the losses that such a line names first the rate was 10 % higher or more in 20 of 35 cases (seven paths,
five senders, an adaptive film).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from playpath.base.frames import pl
from playpath.base.metrics import format_value
from playpath.base.quantity import MBPS, measure
from playpath.results.costs import is_viewers

if TYPE_CHECKING:
    from playpath.results.comparison import Comparison

_FULL = 0.9
"""A path that is busy for at least this share of the time is called full."""
_FEW_LOSSES_S = 60.0
"""Losses rarer than one in so many seconds are called hardly any."""
_TOP = 0.97
_DROPS = {"queue_full": "at the full queue", "aqm": "by the queue's AQM", "loss": "at random on the link"}
_KEPT = 1.25
"""A mean RTT at least this many times the smallest one includes queueing."""


@dataclass(frozen=True)
class Cause:
    """What was measured on the path under a sender."""

    sender: str
    sentence: str

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def causes(result: Comparison) -> list[Cause]:
    """One for each sender in the order of the ranking; only for a single path, and for a video with a ladder or bulk traffic."""
    names = ("mean_rate_kbps", "goodput_mbps")
    name = next((n for n in names if n in result.shown_criteria), None)
    if name is None or len(result.scenario.resolved.get("path") or []) != 1:
        return []
    found = ((sender, _cause(result, sender, name)) for sender in result.ranking)
    return [Cause(sender, sentence) for sender, sentence in found if sentence is not None]


def _cause(result: Comparison, sender: str, name: str) -> str | None:
    summary = result.summary(sender, name)
    link = _means(result.links, (pl.col("sender") == sender) & pl.col("name").str.ends_with("/down"))
    flow = _means(_whole_sessions(result.flows), pl.col("sender") == sender)
    if summary is None or link is None or link.get("utilisation") is None:
        return None
    rate = summary.middle / 1000 if name == "mean_rate_kbps" else summary.middle
    top = _top(result) if name == "mean_rate_kbps" else None
    sentence = f"{format_value(rate)} Mbit/s"
    if top is not None and rate >= _TOP * top:
        return f"{sentence}: the highest rate available."
    busy = f"the path was busy {100 * link['utilisation']:.0f} % of the time"
    parts = [f"{busy}, which is full" if link["utilisation"] >= _FULL else busy]
    parts += [text for text in (_others(result, sender), _losses(link, flow), _queue(flow)) if text]
    return f"{sentence}: {'; '.join(parts)}."


def _whole_sessions(flows: pl.DataFrame) -> pl.DataFrame:
    """A row for each session: what all connections of its viewer lost together, over how long, and their mean RTTs."""
    if not {"sent_packets", "loss_ratio", "min_rtt_ms"} <= set(flows.columns):
        return flows.clear()
    return (
        flows.filter(is_viewers())
        .group_by("sender", "seed", maintain_order=True)
        .agg(
            pl.col("sent_packets").sum(),
            (pl.col("loss_ratio") * pl.col("sent_packets")).sum().alias("lost"),
            (pl.col("end_s").max() - pl.col("start_s").min()).alias("lasted"),
            pl.col("mean_rtt_ms", "min_rtt_ms").mean(),
        )
    )


def _means(frame: pl.DataFrame, wanted: pl.Expr) -> dict[str, Any] | None:
    rows = frame.filter(wanted) if "sender" in frame.columns else frame.clear()
    return None if rows.is_empty() else rows.select(pl.exclude(pl.String).mean()).row(0, named=True)


def _top(result: Comparison) -> float | None:
    """The highest rung, in Mbit/s."""
    ladder = str((result.scenario.resolved.get("player") or {}).get("ladder") or "")
    rungs = [rate for text in ladder.split(",") if (rate := measure(text, MBPS)) is not None]
    return max(rungs, default=None)


def _others(result: Comparison, sender: str) -> str:
    there = next((n for n in result.neighbours if n.sender == sender), None)
    return "" if there is None else f"others took {format_value(there.goodput_mbps)} Mbit/s of it"


def _losses(link: dict[str, Any], flow: dict[str, Any] | None) -> str:
    """How often a packet of the sender was lost, and where packets on this link are lost."""
    if flow is None or not flow.get("sent_packets"):
        return ""
    lost, lasted = flow["lost"], flow["lasted"]
    if lost * _FEW_LOSSES_S < lasted:
        return "hardly any packet was lost"
    drops = {why: link.get(f"dropped_packets.{why}") or 0.0 for why in _DROPS}
    total = sum(drops.values())
    shares = sorted(((n / total, why) for why, n in drops.items() if n > 0), reverse=True) if total else []
    where = ", ".join(_DROPS[why] + ("" if share > 0.995 else f" {100 * share:.0f} %") for share, why in shares)
    often = f"every {format_value(lasted / lost)} s a packet was lost"
    often = f"{format_value(lost / lasted)} packets a second were lost" if lost > lasted else often
    return often + (f" ({where})" if where else "")


def _queue(flow: dict[str, Any] | None) -> str:
    if flow is None or not flow.get("min_rtt_ms") or flow["mean_rtt_ms"] < _KEPT * flow["min_rtt_ms"]:
        return ""
    return f"queueing made its RTT {format_value(flow['mean_rtt_ms'])} ms instead of {format_value(flow['min_rtt_ms'])}"

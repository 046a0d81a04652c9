"""What `playpath twin` judges besides senders: groups of cross traffic, all flows together, and the paths' links.

A group's figure for a seed is the mean over its flows: "cubic: 4.9 Mbit/s" is the mean of its ten flows. All flows together have a
total goodput and Jain's index of their goodputs; each path has its downward link's utilisation and mean queue.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from playpath.base import engine
from playpath.base.tabular import Named, Row
from playpath.results.comparison import Comparison

ALL_FLOWS = "all flows"
FLOW_METRICS = ("goodput_mbps", "mean_rtt_ms", "retransmitted_packets", "loss_ratio", "rto_count")
LINK_METRICS = ("utilisation", "mean_queue_packets")
SHOWN = (*FLOW_METRICS, "total_goodput_mbps", "flow_jain_index", *LINK_METRICS)
"""The metrics that are judged without a video."""

_NO_TRANSPORT = "none"
"""The congestion control of datagrams, which have no RTT and no retransmissions."""
_ONLY_GOODPUT = FLOW_METRICS[:1]


def group_names(result: Comparison) -> list[str]:
    """The scenario's groups of traffic, in its order."""
    return [str(group["name"]) for group in result.scenario.resolved.get("traffic") or []]


def of_traffic(result: Comparison) -> Comparison:
    """The first sender's sessions, with rows for groups of traffic, for all flows and for links in place of the sender."""
    sender = result.senders[0]
    rows: list[Row] = []
    for session in _sessions(result, sender):
        seed = session["seed"]
        flows = _rows(result.flows, sender, seed)
        known = {"seed": seed, "digest": session["digest"]}
        rows += [{**known, **row} for row in _groups(group_names(result), flows)]
        rows.append({**known, "sender": ALL_FLOWS, "cc": "", **_together(flows, session["goodput_mbps"])})
        rows += [{**known, **row} for row in _links(_rows(result.links, sender, seed))]
    return replace(result, table=_table(rows, SHOWN))


def with_cross_traffic(result: Comparison) -> Comparison:
    """Every sender's sessions, with rows for the cross traffic next to it, such as `web beside cubic`."""
    rows: list[Row] = []
    for sender in result.senders:
        for session in _sessions(result, sender):
            known = {"seed": session["seed"], "digest": session["digest"]}
            found = _groups(group_names(result), _rows(result.flows, sender, session["seed"]))
            rows += [{**known, **row, "sender": f"{row['sender']} beside {sender}"} for row in found]
    return replace(result, table=_table(rows, FLOW_METRICS))


def _groups(names: Sequence[str], flows: Sequence[Mapping[str, Any]]) -> Iterable[Row]:
    for name in names:
        own = [flow for flow in flows if _group_of(str(flow["name"]), names) == name]
        control = str(own[0]["cc"]) if own else ""
        judged = _ONLY_GOODPUT if control == _NO_TRANSPORT else FLOW_METRICS
        yield {"sender": name, "cc": control} | {metric: _mean(flow[metric] for flow in own) for metric in judged}


def _group_of(flow: str, names: Sequence[str]) -> str | None:
    """The group of a flow: `web.2`, and `web.2.1` if a source opens several connections, are in `web`, unless a group is named `web.2`."""
    found = [name for name in names if flow == name or flow.startswith(f"{name}.")]
    return max(found, key=len, default=None)


def _together(flows: Sequence[Mapping[str, Any]], goodput_mbps: float | None) -> dict[str, float | None]:
    """Goodput over the whole run, and Jain's index over each flow's goodput during its lifetime."""
    fairness = engine.jain_index([float(flow["goodput_mbps"]) for flow in flows])
    return {"total_goodput_mbps": goodput_mbps} | ({} if fairness is None else {"flow_jain_index": fairness})


def _links(links: Sequence[Mapping[str, Any]]) -> Iterable[Row]:
    for link in links:
        kind, _, rest = str(link["name"]).partition(".")
        path, _, direction = rest.rpartition("/")
        if kind == "path" and direction == "down":
            yield {"sender": f"path {path}", "cc": ""} | {metric: link[metric] for metric in LINK_METRICS}


def _rows(frame: pl.DataFrame, sender: str, seed: int) -> list[Named]:
    if frame.is_empty():
        return []
    return frame.filter((pl.col("sender") == sender) & (pl.col("seed") == seed)).to_dicts()


def _sessions(result: Comparison, sender: str) -> list[Named]:
    return result.table.filter(pl.col("sender") == sender).sort("seed").to_dicts()


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _table(rows: list[Row], metrics: Sequence[str]) -> pl.DataFrame:
    schema = {"sender": pl.String, "cc": pl.String, "seed": pl.Int64, "digest": pl.String}
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(metrics, pl.Float64))

"""Metrics of the study `newcwv` from a session's time series: falls of the window, losses, shares of the bottleneck."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from playpath.papers.study import Series

COLLAPSES, IDLE_FALLS, LOSSES, CWND, SPREAD = (
    "cwnd_collapses_per_minute",
    "idle_falls_per_minute",
    "dash_lost_packets",
    "mean_cwnd_packets",
    "sent_deviation_kb",
)
SENT_P99 = "sent_p99_kb"
LOST_AT_START, LOST_AFTER_PAUSE, LOST_ELSE = "lost_at_start_packets", "lost_after_pause_packets", "lost_else_packets"
SHARE, FTP, SUM, ALONE, AFTER = "dash_mbps", "ftp_mbps", "sum_mbps", "dash_alone_mbps", "ftp_after_mbps"
STEP_S = 0.1
_FTP_START, _WARM_UP = 60.0, 20.0


def measure(record: Mapping[str, Any], series: Series) -> dict[str, float]:
    """Window, losses and shares, from samples of 100 ms.

    A collapse is a fall of cwnd to three quarters or less of its largest value in the half second before, counted at most once a
    second; an idle fall is one right after an idle time, which no loss can have caused. Times are in minutes of an open connection.
    `sent_deviation_kb` is the standard deviation of the bytes that arrive at the link in a second, `sent_p99_kb` their 99th
    percentile: all flows, headers included.
    """
    flows = _dash_flows(series)
    falls = [_falls(flow) for flow in flows.values()]
    minutes = sum(len(f["snd_cwnd"]) for f in flows.values()) * STEP_S / 60
    sent = _sent_per_second(series)[int(_WARM_UP) :] / 1000
    own = [flow for flow in record["flows"] if flow["name"].split(".")[0] == "video"]
    found = {
        COLLAPSES: sum(len(f) for f in falls) / minutes,
        IDLE_FALLS: sum(is_idle for f in falls for is_idle in f) / minutes,
        LOSSES: float(sum(round(flow["loss_ratio"] * flow["sent_packets"]) for flow in own)),
        **_lost_when(flows),
        CWND: float(np.concatenate([f["snd_cwnd"] for f in flows.values()]).mean()),
        SPREAD: float(sent.std()),
        SENT_P99: float(np.percentile(sent, 99)),
    }
    return found | (_shares(record, flows, series) if _competing_flow(series) else {})


def _dash_flows(series: Series) -> dict[str, dict[str, np.ndarray]]:
    return {
        k: {c: np.asarray(v, dtype=float) for c, v in t.items()}
        for k, t in series.items()
        if k.startswith("flow.video")
    }


def _falls(flow: Mapping[str, np.ndarray]) -> list[bool]:
    """For each fall of cwnd: whether it came with the first packets after an idle time, before any loss could be known.

    A fall does not count if there were retransmissions in the second before: then the idle time only followed the recovery that
    the fall ends.
    """
    cwnd, unacked, resent = flow["snd_cwnd"], flow["unacked"], flow["total_retrans"]
    falls, last = [], -100
    before, pause = round(0.5 / STEP_S), round(1 / STEP_S)
    largest = np.zeros(len(cwnd))  # over the samples before
    for back in range(1, before + 1):
        largest[back:] = np.maximum(largest[back:], cwnd[:-back])
    for i in np.flatnonzero(cwnd <= 0.75 * largest).tolist():
        if i - last >= pause:
            last = i
            # At most one sample after an idle one: a round trip takes two.
            falls.append(bool(unacked[i - 1] == 0 and resent[i] == resent[max(0, i - pause)]))
    return falls


def _lost_when(flows: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, float]:
    """DASH's retransmissions: within 5 s of a new connection, within 5 s after a pause of a second or more, all others."""
    found = dict.fromkeys((LOST_AT_START, LOST_AFTER_PAUSE, LOST_ELSE), 0.0)
    reach, pause = round(5 / STEP_S), round(1 / STEP_S)
    for flow in flows.values():
        gained = np.diff(flow["total_retrans"], prepend=0.0)
        sample = np.arange(len(gained))
        idle = sample - _latest(flow["unacked"] != 0)
        resumed = sample - _latest(idle >= pause, never=-(10**9))
        is_start, is_after = sample < reach, resumed <= reach
        found[LOST_AT_START] += gained[is_start].sum()
        found[LOST_AFTER_PAUSE] += gained[~is_start & is_after].sum()
        found[LOST_ELSE] += gained[~is_start & ~is_after].sum()
    return found


def _latest(is_so: np.ndarray, never: int = -1) -> np.ndarray:
    """For each sample, the index of the latest one up to itself for which `is_so` is true."""
    return np.maximum.accumulate(np.where(is_so, np.arange(len(is_so)), never))


def _sent_per_second(series: Series) -> np.ndarray:
    """Bytes that arrive at the link in each whole second of the session."""
    (link,) = (columns for name, columns in series.items() if name.startswith("link.") and name.endswith("/down"))
    time_s = np.asarray(link["time_s"], dtype=float)
    at = np.searchsorted(time_s, np.arange(1, int(time_s[-1]) + 1) + STEP_S / 2) - 1
    return np.diff(np.asarray(link["offered_bytes"], dtype=float)[at], prepend=0.0)


def _lost_per_second(flows: Mapping[str, Mapping[str, np.ndarray]]) -> np.ndarray:
    """DASH's retransmissions in each second, as the losses are seen."""
    length = 2 + int(max(f["time_s"][-1] for f in flows.values() if len(f["time_s"])))
    total = np.zeros(length)
    for flow in flows.values():
        gained = np.diff(flow["total_retrans"], prepend=0.0)
        np.add.at(total, flow["time_s"].astype(int), gained)
    return total


def _rate_per_second(flow: Mapping[str, np.ndarray], seconds: int) -> np.ndarray:
    rate = np.zeros(seconds)
    second = (flow["time_s"] - 1e-9).astype(int)
    is_whole = second < seconds
    np.add.at(rate, second[is_whole], flow["goodput_mbps"][is_whole] * STEP_S)
    return rate


def _competing_flow(series: Series) -> str:
    """The flow that shares the link with DASH; empty if there is none."""
    return next((name for name in ("flow.ftp", "flow.http") if name in series), "")


def _rates(flows: Mapping[str, Any], series: Series) -> tuple[np.ndarray, np.ndarray]:
    """Rates of DASH and of the other flow, in Mbit/s in bins of a second."""
    ftp = {c: np.asarray(v, dtype=float) for c, v in series[_competing_flow(series)].items()}
    seconds = int(ftp["time_s"][-1]) if len(ftp["time_s"]) else 0
    dash = sum((_rate_per_second(f, seconds) for f in flows.values()), np.zeros(seconds))
    return dash, _rate_per_second(ftp, seconds)


def _shares(record: Mapping[str, Any], flows: Mapping[str, Any], series: Series) -> dict[str, float]:
    """Rates of DASH alone, of both together, and of FTP after the client's last download, while it plays its buffer."""
    dash, ftp = _rates(flows, series)
    both = _contended(record)
    after = ftp[both.stop + 2 :]
    found = {
        SHARE: float(dash[both].mean()),
        FTP: float(ftp[both].mean()),
        SUM: float((dash + ftp)[both].mean()),
        # While the client fills its buffer, before it first pauses.
        ALONE: float(np.sort(dash[5 : int(_FTP_START) - 5])[-20:].mean()),
    }
    return found | ({AFTER: float(after.mean())} if len(after) >= 5 else {})


def _contended(record: Mapping[str, Any]) -> slice:
    """The seconds in which both flows compete: to the client's last download."""
    last = max(e["time_s"] for e in record["events"] if e["event"] == "segment_downloaded")
    return slice(int(_FTP_START + _WARM_UP), int(last))


def trace(record: Mapping[str, Any], series: Series) -> dict[str, tuple[list[float], list[float]]]:
    """Cwnd (the largest of the open connections), drops and bytes sent per second, shares, distribution of FTP's rate."""
    flows = _dash_flows(series)
    first = next(iter(flows.values()))
    newest = list(flows.values())
    time_s = np.concatenate([f["time_s"] for f in newest])
    cwnd = np.concatenate([f["snd_cwnd"] for f in newest])
    order = np.argsort(time_s, kind="stable")
    found = {
        "cwnd": _pair(time_s[order][::5], cwnd[order][::5]),
        "cwnd of one connection": _pair(first["time_s"][:1600], first["snd_cwnd"][:1600]),
        "losses": _pair(*_numbered(_lost_per_second(flows))),
        "in flight of one connection": _pair(first["time_s"][:1600], first["unacked"][:1600]),
        "sent": _pair(*_numbered(_sent_per_second(series) / 1000)),
    }
    if _competing_flow(series):
        dash, ftp = _rates(flows, series)
        smooth = np.ones(5) / 5
        contended = np.sort(ftp[_contended(record)])
        found["dash share"] = _pair(*_numbered(np.convolve(dash, smooth, "same")))
        found["ftp share"] = _pair(*_numbered(np.convolve(ftp, smooth, "same")))
        found["ftp ecdf"] = _pair(contended, np.arange(1, len(contended) + 1) / len(contended))
    return found


def _numbered(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(len(values), dtype=float), values


def _pair(x: np.ndarray, y: np.ndarray) -> tuple[list[float], list[float]]:
    return np.round(x, 3).tolist(), np.round(y, 4).tolist()

"""Single packets of a traced session, and which of them are kept and shown.

A traced session of the simulator has four series for its video's flow (without a video, for its first flows). Each has
`time_s` and `path` (number of the path); places are bytes of the path's own stream, from its first data byte.

- `packets.video`: a row for each data packet that the server sent: `offset`, `bytes`, `kind` (0 new, 1 retransmission, 2 copy
  of what another path was given), and `data_offset`, the place in the data of all paths;
- `acks.video`: a row for each ACK that reached the server: `acked`, and up to where it may send, `window` by its congestion
  control, `receive_window` by the client (NaN under MPTCP, whose window counts data of all paths);
- `sacks.video`: `from`, `until` of what an ACK says has arrived and the one before did not;
- `drops.video`: `offset` and `cause` (0 loss, 1 queue full, 2 AQM, 3 outage, 4 too big, 5 corrupted, 6 NAT) of packets that a link
  dropped; `time_s` is when it came to the link.
"""

from dataclasses import replace

import numpy as np

from playpath.base.errors import InputError
from playpath.results.record import PACKETS, Session

NEW, RETRANSMISSION, COPY = range(3)
SERIES = "packets.video"
_KEPT_S = 10.0
_SHOWN = 120
_CUT = 0.95
"""A window that an event leaves smaller than this part of it was cut."""

Window = tuple[float, float]


def centre_s(session: Session) -> float:
    """Where to look.

    Over several paths: the first switch of the scheduler's own will in the middle half of all switches, else the middle one. Over
    one: the last cut of the window before the longest stall, else the middle cut, else the middle packet.
    """
    switches = session.series.get("switches.video")
    if switches is not None and len(switches["time_s"]):
        count = len(switches["time_s"])
        forced = np.asarray(switches["is_forced"], dtype=bool)
        own = (i for i in range(count // 4, 3 * (count // 4)) if not forced[i])
        return float(switches["time_s"][next(own, count // 2)])
    flow = next((name.removeprefix("packets.") for name in session.series if name.startswith("packets.")), "video")
    cuts = [e["time_s"] for e in session.window_events.get(flow, []) if e["cwnd_after"] < _CUT * e["cwnd_before"]]
    stalls = [(e["frozen_s"], e["time_s"] - e["frozen_s"]) for e in session.events if e["event"] == "stall_end"]
    before = [at for at in cuts if stalls and at <= max(stalls)[1]]
    if before or cuts:
        return float(before[-1] if before else cuts[len(cuts) // 2])
    times = session.series.get(f"packets.{flow}", {}).get("time_s", np.array([]))
    return float(times[len(times) // 2]) if len(times) else 0.0


def trimmed(session: Session, window: Window | None = None) -> Session:
    """The session with the packets of ten seconds only, around what is shown (and all of `window`); all else stays."""
    centre = centre_s(session) if window is None else sum(window) / 2
    begin, end = window or (centre, centre)
    begin, end = min(begin, centre - _KEPT_S / 2), max(end, centre + _KEPT_S / 2)
    series = {
        name: {key: values[_within(columns["time_s"], begin, end)] for key, values in columns.items()}
        if name.startswith(PACKETS)
        else columns
        for name, columns in session.series.items()
    }
    return replace(session, series=series)


def check_window(session: Session, window: Window) -> None:
    """Refuse a window in which no packet was kept."""
    option = f"--window {window[0]:g}..{window[1]:g}"
    times = _times(session)
    if not len(times):
        raise InputError(f"{option}: of {session.sender} no packets were kept; `playpath run --trace` keeps them")
    if not has_packets(session, window):
        raise InputError(
            f"{option}: of {session.sender} packets are kept from {times[0]:.3f} to {times[-1]:.3f} s; "
            "`playpath run --trace` keeps all"
        )


def shown_window(session: Session, window: Window | None = None) -> Window:
    """The times to draw: those asked for, else of some hundred packets around the centre."""
    if window is not None:
        check_window(session, window)
        return window
    times = np.asarray(session.series[SERIES]["time_s"], dtype=float)
    middle = int(np.searchsorted(times, centre_s(session)))
    first = max(0, min(middle - _SHOWN // 2, len(times) - _SHOWN))
    return float(times[first]), float(times[min(first + _SHOWN, len(times)) - 1])


def has_packets(session: Session, window: Window) -> bool:
    return bool(_within(_times(session), *window).any())


def _times(session: Session) -> np.ndarray:
    kept = [columns["time_s"] for name, columns in session.series.items() if name.startswith("packets.")]
    return np.sort(np.concatenate(kept)) if kept else np.array([])


def _within(times: np.ndarray, begin: float, end: float) -> np.ndarray:
    found: np.ndarray = (np.asarray(times, dtype=float) >= begin) & (np.asarray(times, dtype=float) <= end)
    return found

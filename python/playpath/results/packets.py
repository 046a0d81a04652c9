"""Single packets of a traced session, and which of them are kept and shown.

A traced session of the simulator has four series for its video's flow (without a video, for its first flows). Each has
`time_s` and `path` (number of the path); offsets are bytes of the path's own stream, from its first data byte.

- `packets.video`: a row for each data packet that the server sent: `offset`, `bytes`, `kind` (0 new, 1 retransmission, 2 copy
  of data sent on another path), and `data_offset`, the offset in the data of all paths;
- `acks.video`: a row for each ACK that reached the server: `acked`, and the offsets up to which it may send: `window` by its
  congestion control, `receive_window` by the client (NaN with MPTCP, whose window counts data of all paths);
- `sacks.video`: `from` and `until` of data newly reported as arrived by an ACK;
- `drops.video`: `offset` and `cause` (0 loss, 1 queue full, 2 AQM, 3 outage, 4 too big, 5 corrupted, 6 NAT) of packets that a link
  dropped; `time_s` is when the packet reached the link.
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
"""An event that leaves less than this share of the window counts as a reduction."""

Window = tuple[float, float]


def centre_s(session: Session) -> float:
    """The time at the centre of the packet view.

    With several paths: the first unforced switch in the middle half of all switches, otherwise the middle switch. With one path:
    the last reduction of the window before the longest stall, otherwise the middle reduction, otherwise the middle packet.
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
    """The session with packets only for ten seconds around the view (and for all of `window`); everything else is kept."""
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
        raise InputError(f"{option}: no packets of {session.sender} were kept; `playpath run --trace` keeps them")
    if not has_packets(session, window):
        raise InputError(
            f"{option}: packets of {session.sender} are kept from {times[0]:.3f} to {times[-1]:.3f} s; "
            "`playpath run --trace` keeps all"
        )


def shown_window(session: Session, window: Window | None = None) -> Window:
    """The times to draw: those requested, otherwise those of about a hundred packets around the centre."""
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
    return (np.asarray(times, dtype=float) >= begin) & (np.asarray(times, dtype=float) <= end)

"""Which packets of a traced session over several paths are kept and shown.

A session's series `packets.video` has a row for each data packet that the server sent: `time_s`, `path` (its number),
`data_offset`, `kind` (0 new, 1 retransmission, 2 copy of what another path was given).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from playpath.errors import InputError
from playpath.record import Session

NEW, RETRANSMISSION, COPY = range(3)
SERIES = "packets.video"
_KEPT_S = 10.0
_SHOWN = 120

Window = tuple[float, float]


def centre_s(session: Session) -> float:
    """Where to look: the first switch of the scheduler's own will in the middle half of all switches, else the middle."""
    switches = session.series.get("switches.video")
    if switches is None or not len(switches["time_s"]):
        times = np.asarray(session.series[SERIES]["time_s"], dtype=float)
        return float(times[len(times) // 2]) if len(times) else 0.0
    count = len(switches["time_s"])
    forced = np.asarray(switches["is_forced"], dtype=bool)
    own = (i for i in range(count // 4, 3 * (count // 4)) if not forced[i])
    return float(switches["time_s"][next(own, count // 2)])


def trimmed(session: Session) -> Session:
    """The session with the packets of ten seconds only, around what is shown; all else stays."""
    if SERIES not in session.series:
        return session
    centre = centre_s(session)
    kept = _between(session, (centre - _KEPT_S / 2, centre + _KEPT_S / 2))
    packets = {name: values[kept] for name, values in session.series[SERIES].items()}
    return replace(session, series={**session.series, SERIES: packets})


def shown_window(session: Session, window: Window | None = None) -> Window:
    """The times to draw: those asked for, else of some hundred packets around the centre.

    Raises
    ------
    InputError
        No packet was kept in the window.
    """
    times = np.asarray(session.series[SERIES]["time_s"], dtype=float)
    if window is None:
        middle = int(np.searchsorted(times, centre_s(session)))
        first = max(0, min(middle - _SHOWN // 2, len(times) - _SHOWN))
        return float(times[first]), float(times[min(first + _SHOWN, len(times)) - 1])
    if not _between(session, window).any():
        begin, end = (float(times[0]), float(times[-1])) if len(times) else (0.0, 0.0)
        raise InputError(
            f"--window {window[0]:g}..{window[1]:g}: of {session.sender} packets are kept from {begin:.3f} to {end:.3f} s; "
            "`playpath run --trace` keeps all"
        )
    return window


def _between(session: Session, window: Window) -> np.ndarray:
    times = np.asarray(session.series[SERIES]["time_s"], dtype=float)
    found: np.ndarray = (times >= window[0]) & (times <= window[1])
    return found

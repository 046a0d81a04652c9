"""The section on several paths: what each carried, packet by packet and over the session, and why the sender switched."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise

import numpy as np

from playpath.results.packets import COPY, RETRANSMISSION, SERIES, Window, shown_window
from playpath.results.paths import Run, binned_goodput, runs, shown_runs, subflows, switch_reasons
from playpath.results.record import Session
from playpath.results.stalls import stalls
from playpath.show.report import html
from playpath.show.report.component import component

_NOTE = (
    "Stacked: goodput over each path; red bands where playback stands still. Lanes: consecutive packets of new data on a path, as a "
    "bar whose height is their number. Hollow bar: the scheduler switched because the previous path had no room; filled bar with a "
    "triangle: it switched although there was room, by its own choice."
)
_ZOOM = (
    "Single packets: a stroke for each that the server sent, a cross over retransmissions, a diamond over copies of data sent on "
    "another path. A line marks each switch of path; its letter stands for the scheduler's reason, in red if the path it left had "
    "room. To see another part: playpath report DIR --window FROM..TO, in seconds."
)


_BINS = 160
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def paths_section(sessions: Sequence[Session], window: Window | None = None) -> str:
    """Figures and a table of switches by reason for each traced session over several paths; empty if there is none."""
    several = [session for session in sessions if subflows(session)]
    parts = [_session(session, len(sessions) > 1, window) for session in several]
    note = f"{_NOTE} {_ZOOM}" if any(SERIES in session.series for session in several) else _NOTE
    return html.section("Several paths", "".join(parts), note=note, anchor="paths") if parts else ""


def _session(session: Session, is_named: bool, window: Window | None) -> str:
    name = f"<h3>{escape(session.sender)}</h3>" if is_named else ""
    parts = [_stacked(session)]
    if runs(session):
        parts.append(_runs_figure(session))
    if SERIES in session.series:
        parts.append(_packets_figure(session, window))
    return name + html.figures(parts) + _reasons(session)


def _stacked(session: Session) -> str:
    """Stacked goodput of the subflows, and the times at which the picture stands still."""
    found = subflows(session)
    end = max(float(columns["time_s"][-1]) for columns in found.values() if len(columns["time_s"]))
    edges = np.linspace(0.0, end, _BINS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    base = np.zeros(_BINS)
    series = []
    for place, (path, columns) in enumerate(found.items()):
        top = base + binned_goodput(columns, edges)
        points = np.stack([middle, top, base, top], axis=1).round(4).tolist()
        series.append({"name": path, "place": place, "points": points, "isLine": True, "marked": []})
        base = top
    given = {
        "x": {"label": "time", "unit": "", "isTime": True, "range": [0, end]},
        "y": {"label": "goodput", "unit": "Mbit/s"},
        "spread": "layer",
        "series": series,
        "stops": stalls(session),
    }
    return component("plane", f"{session.sender}: goodput over each path, stacked", given)


def _runs_figure(session: Session) -> str:
    """Some switches of path: runs of consecutive packets as bars."""
    shown = shown_runs(session)
    lanes = list(subflows(session))
    most = max(run.packets for run in shown)
    bars = [
        {
            "lane": lanes.index(run.path),
            "from": run.begin_s,
            "until": run.end_s,
            "share": min(run.packets / most, 1.0),
            "isOwn": not run.is_forced,
            "label": _summary(run),
        }
        for run in shown
    ]
    given = {"lanes": lanes, "view": [shown[0].begin_s, shown[-1].end_s], "bars": bars, "strokes": []}
    title = f"{session.sender}: consecutive packets on each path, at most {most:.0f}"
    return component("lanes", title, {**given, "changes": _between(shown, lanes), "letters": {}})


def _between(shown: Sequence[Run], lanes: list[str]) -> list[dict[str, object]]:
    return [
        {
            **_change(lanes, before.path, before.end_s, after.path, after.begin_s),
            "letter": "",
            "isOwn": False,
            "label": _summary(after),
        }
        for before, after in pairwise(shown)
    ]


def _change(lanes: list[str], left: str, left_s: float, entered: str, entered_s: float) -> dict[str, object]:
    return {"from": lanes.index(left), "left": left_s, "to": lanes.index(entered), "entered": entered_s}


def _summary(run: Run) -> str:
    room = "no room on the path before" if run.is_forced else "the path before had room"
    return f"{run.packets:.0f} packets on {run.path}: {run.reason}; {room}"


def _packets_figure(session: Session, window: Window | None) -> str:
    """Every data packet that the server sent in a window, and the switches of path with their reasons."""
    begin, end = shown_window(session, window)
    lanes = list(subflows(session))
    packets = session.series[SERIES]
    inside = (packets["time_s"] >= begin) & (packets["time_s"] <= end)
    rows = zip(*(np.asarray(packets[name])[inside].tolist() for name in ("path", "time_s", "kind")), strict=True)
    kinds = {RETRANSMISSION: "retransmission", COPY: "copy"}
    strokes = [{"lane": int(path), "time": at, "kind": kinds.get(int(kind), "packet")} for path, at, kind in rows]
    letters: dict[str, str] = {}
    changes = _changes(session, (begin, end), lanes, letters)
    given = {"lanes": lanes, "view": [begin, end], "bars": [], "strokes": strokes, "changes": changes}
    signs = {letter: why for why, letter in letters.items()}
    return component("lanes", f"{session.sender}: single packets on each path", {**given, "letters": signs}, full=True)


def _changes(session: Session, view: Window, lanes: list[str], letters: dict[str, str]) -> list[dict[str, object]]:
    """The switches of path within a view; each reason gets a letter."""
    switches = session.series.get("switches.video")
    if switches is None:
        return []
    columns = (switches[name] for name in ("time_s", "last_before_s", "from", "to", "reason", "is_forced"))
    found = []
    for at, before, left, entered, why, forced in zip(*columns, strict=True):
        if view[0] <= float(at) <= view[1]:
            letter = letters.setdefault(str(why), _LETTERS[len(letters) % len(_LETTERS)])
            change = _change(lanes, str(left), max(float(before), view[0]), str(entered), float(at))
            room = "no room on the path before" if forced else "the path before had room"
            found.append({**change, "letter": letter, "isOwn": not forced, "label": f"{why}; {room}"})
    return found


def _reasons(session: Session) -> str:
    head = ["the scheduler's reason", "switches", "of these from a path without room", "from a path with room"]
    rows = [
        [escape(why), f"{forced + free:,}", f"{forced:,}", f"{free:,}"] for why, forced, free in switch_reasons(session)
    ]
    return html.table(head, rows, classes="cards") if rows else ""

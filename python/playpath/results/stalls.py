"""The times at which the picture of a session stood still."""

from playpath.results.record import Session


def stalls(session: Session) -> list[tuple[float, float]]:
    found, begin = [], None
    last = _end(session)
    for event in session.events:
        if event["event"] == "stall_start":
            begin = float(event["since_s"])
        elif event["event"] == "stall_end" and begin is not None:
            found.append((begin, float(event["time_s"])))
            begin = None
    return found if begin is None else [*found, (begin, last)]


def _end(session: Session) -> float:
    return max((float(s["time_s"][-1]) for s in session.series.values() if len(s.get("time_s", ()))), default=0.0)

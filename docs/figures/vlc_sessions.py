#!/usr/bin/env python3
"""Draw what VLC showed in two sessions: python3 docs/figures/vlc_sessions.py NAME=FOLDER NAME=FOLDER OUT.png

FOLDER is what `playpath run … --world kernel --player vlc --trace FOLDER` wrote. Needs the package.
"""

import json
import pathlib
import sys

from playpath.plots.style import INK, MUTED, STALL, dress, figure, sender_styles


def main():
    *named, out = sys.argv[1:]
    sessions = dict(item.split("=", 1) for item in named)
    made, axes = figure(6.4, 0.7 + 1.0 * len(sessions), nrows=len(sessions), sharex=True, squeeze=False)
    styles = sender_styles(list(sessions))
    for ax, (name, folder) in zip(axes[:, 0], sessions.items(), strict=True):
        logged = pathlib.Path(folder)
        events = json.loads((logged / "record.json").read_text())["events"]
        lines = (logged / "logs" / "vlc-status.jsonl").read_text().splitlines()
        rows = [r for r in map(json.loads, lines) if r.get("readbytes") is not None]
        ax.plot([r["time_s"] for r in rows], [r["readbytes"] / 1e6 for r in rows], color=styles[name].colour, lw=1.8)
        starts = [e["time_s"] for e in events if e["event"] == "stall_start"]
        ends = [e["time_s"] for e in events if e["event"] == "stall_end"]
        begin = next(e["time_s"] for e in events if e["event"] == "playback_started")
        ax.axvspan(0, begin, color=MUTED, alpha=0.25, lw=0)
        for start, end in zip(starts, ends, strict=True):
            ax.axvspan(start, end, color=STALL, alpha=0.35, lw=0)
        for event in events:
            if event["event"] == "pictures_discarded":
                ax.plot(event["time_s"], 0.3, marker="|", color=INK, ms=7, mew=1.2)
        ax.set_ylabel(f"{name}\nread, MB")
        ax.set_ylim(0, 10.8)
        dress(ax, grid="y")
    axes[-1, 0].set_xlabel("s since VLC opened the video")
    made.savefig(out, dpi=130)


if __name__ == "__main__":
    main()

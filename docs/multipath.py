"""Play what docs/multipath.md and docs/appendix/multipath.md say about schedulers: a part of `make figures`, a minute of a core.

Writes the appendix' table and docs/figures/multipath.png, and prints the figures of both pages' text: a person puts them there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import polars as pl
from marks import fill
from papers import commit

import playpath
from playpath.results.record import Session

DOCS = Path(__file__).parent
PAGE = DOCS / "appendix" / "multipath.md"
CONTROLS = "cubic,compound,lia,olia"
SEEDS = 5
PREDICTED = ("path_switches", "switches_underflow_predicted", "switches_discard_predicted", "underflow_events")


def main() -> None:
    """The table, then what the text has."""
    baseline = played("sticky-baseline", seeds=SEEDS)
    write(baseline)
    tell(
        "baseline: packets, share with a choice and of choices used (%), packets for each switch",
        baseline.select(
            "sender",
            "goodput_mbps",
            "packets",
            chosen=100 * pl.col("path_choices") / pl.col("packets"),
            used=100 * pl.col("switches_from_open_path") / pl.col("path_choices"),
            each=pl.col("packets") / pl.col("path_switches"),
        ),
    )
    tell("baseline: predictors", baseline.select("sender", *PREDICTED, "discarded_pictures"))
    for name in ("sticky-3p-50", "sticky-3p-150"):
        tell(f"{name}: five seeds", played(name, seeds=SEEDS).select("sender", "goodput_mbps", "stall_time_s"))
        found = played(name, seeds=1, cc=CONTROLS, scheduler="dft,gr-sty")
        tell(f"{name}: seed 1", found.select("sender", "path_choices", *PREDICTED))
    found = played("sticky-3p-50", seeds=SEEDS, cc="cubic", scheduler="linux,blest,gr-sty")
    tell("sticky-3p-50: beside Linux's scheduler", found.select("sender", "stall_time_s"))
    tell_switches(playpath.run("sticky-baseline", sender="cubic/dft", trace=True))
    for size in ("6 MB", "1000 kB", "600 kB", "300 kB", "200 kB"):
        found = played("sticky-baseline", buffer(size), seeds=1, cc="cubic", scheduler="dft,gr-sty")
        tell(f"client's buffer of {size}", found.select("sender", "path_switches"))
    for size in ("1 MB", "250 kB"):
        found = played(
            "sticky-baseline",
            buffer(size) | {"video.duration": "156 s"},
            seeds=1,
            cc="cubic,lia",
            scheduler="dft,dft(penalise=false)",
        )
        tell(
            f"client's buffer of {size}, with penalties and without", found.select("sender", "path_choices", "packets")
        )
    found = played(
        "sticky-baseline",
        buffer("600 kB")
        | {f"path.{name}.rate": "4 Mbit/s" for name in ("wifi1", "wifi2", "wired")}
        | {"video.duration": "120 s"},
        seeds=1,
        cc="cubic",
        scheduler=",".join(f"{rule}(penalise=false)" for rule in ("dft", "gr-sty", "tp-sty", "tr-sty")),
    )
    tell("with room", found.select("sender", "path_switches", "switches_from_open_path", "path_choices", "packets"))
    subprocess.run([sys.executable, DOCS / "figures" / "multipath.py"], check=True)


def buffer(size: str) -> dict[str, str]:
    """The client's socket buffer."""
    return {"sender.receive_buffer": size}


def played(name: str, changes: Mapping[str, str] | None = None, *, seeds: int, **senders: str) -> pl.DataFrame:
    """Means over the seeds, and `packets` of data that a session has."""
    result = playpath.compare(name, seeds=seeds, set=changes, **senders)
    sent = result.flows.group_by("sender", "seed").agg(
        packets=pl.col("sent_packets").sum() - pl.col("retransmitted_packets").sum()
    )
    rows = result.table.join(sent, on=("sender", "seed"), maintain_order="left")
    means = rows.group_by("sender", maintain_order=True)
    return means.agg(pl.all().exclude("cc", "seed", "digest").mean())


def write(baseline: pl.DataFrame) -> None:
    """The table of forced and voluntary switches, between the marks."""
    packets = round(baseline["packets"].mean() / 1000)
    lines = [
        f"Means of five seeds ({packets} 000 packets of data; `--seeds 5`; engine of commit {commit()}):\n",
        "| baseline | switches | of these voluntary | packets with a choice | stall time (s) |",
        "|---|" + "---:|" * 4,
    ]
    for row in baseline.rows(named=True):
        counts = (row[name] for name in ("path_switches", "switches_from_open_path", "path_choices"))
        cells = [f"{count:,.0f}".replace(",", " ") if count >= 1e4 else f"{count:.0f}" for count in counts]
        lines.append(f"| {row['sender']} | " + " | ".join([*cells, f"{row['stall_time_s']:.3g}"]) + " |")
    fill(PAGE, "docs/multipath.py", "\n".join(lines))


def tell_switches(session: Session) -> None:
    """Three consecutive switches, and how full the windows are."""
    switches = session.frame("switches.video").filter(pl.col("time_s") >= 20)
    places = session.frame("packets.video").filter(pl.col("kind") == 0)["data_offset"]
    given = [
        int(places.is_between(a, b, closed="left").sum())
        for a, b in zip(switches["data_offset"][:3], switches["data_offset"][1:4], strict=True)
    ]
    tell("baseline, cubic/dft: switches after 20 s", switches.head(3).with_columns(packets=pl.Series(given)))
    for name in ("wifi1", "wifi2", "wired"):
        tell(
            f"{name} at 20 s",
            session.frame(f"flow.video/{name}").filter(pl.col("time_s") <= 20).tail(1).select("unacked", "snd_cwnd"),
        )


def tell(what: str, found: pl.DataFrame) -> None:
    """Figures of the text."""
    print(f"\n{what}")
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=160,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        thousands_separator=" ",
    ):
        print(found)


if __name__ == "__main__":
    main()

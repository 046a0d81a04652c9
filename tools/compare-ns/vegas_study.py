"""The cells of the study `vegas` in ns-2 itself, judged by the study's own checks.

Use: `python tools/compare-ns/vegas_study.py OUT [SEEDS]`, three seeds by default. Needs `ns` (Debian: ns2). Every cell is run
with receivers that acknowledge each packet and with ns-2's delayed ACKs, which the paper leaves open. Writes vegas_study.csv
beside itself, a row for each cell and seed, from which docs/papers.py takes what the page says of ns-2, and prints a row for
each claim: the verdict and what decides it. Cells are kept in OUT and not run again.
"""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl

from playpath.papers import evaluate, study
from playpath.papers.claims import is_judged
from playpath.papers.study import Case
from playpath.papers.vegas import by_lateness

SCRIPT = Path(__file__).with_name("vegas_study.tcl")
TABLE = Path(__file__).with_name("vegas_study.csv")
SINKS = {"each": "TCPSink", "delayed": "TCPSink/DelAck"}
SECONDS, START_SHARE, PACKET = 300, 0.05, 1000


def main(out: Path, seeds: int) -> None:
    """Run what is missing, then judge."""
    out.mkdir(parents=True, exist_ok=True)
    vegas = study("vegas")
    cases = [case for case in vegas.cases(1.0) if is_judged(vegas.claims, case)]
    todo = [(acks, seed, case) for acks in SINKS for seed in range(1, seeds + 1) for case in cases]
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda one: _cell(*one, out), todo)
        rows = [{"acks": a, **c.labels, "seed": s, **cell} for (a, s, c), cell in zip(todo, found, strict=True)]
    table = pl.DataFrame(rows, infer_schema_length=None)
    table.write_csv(TABLE, float_precision=4)
    for (acks,), of in table.group_by("acks", maintain_order=True):
        for claim in vegas.claims:
            found = evaluate(claim, of)
            decides = f"{found.deciding.check.says}: {found.deciding.figures()}"
            print(f"| {acks} | {claim.id} | {found.verdict} | {decides} |")


def _cell(acks: str, seed: int, case: Case, out: Path) -> dict[str, float]:
    labels = case.labels
    ftp, web = str(labels["background"]).split(":")
    arguments = {
        "agent": {"NewReno": "Newreno"}.get(str(labels["variant"]), labels["variant"]),
        "media": labels["media_mbps"],
        "rtt": labels["rtt"],
        "loss": float(labels["loss_percent"]) / 100,
        "ftp": ftp,
        "web": web,
        "queue": labels["queue"],
        "seconds": SECONDS,
        # ns-2's generator begins with the seed itself: the first numbers drawn with 1, 2 and 3 are all about 0.
        "seed": random.Random(seed).randrange(1, 2**31 - 1),
    }
    if acks != "each":
        arguments["sink"] = SINKS[acks]
    texts = [str(text) for pair in arguments.items() for text in pair]
    kept = out / ("-".join(texts[1::2]).replace("/", ".") + ".parquet")
    if not kept.exists():
        run = subprocess.run(["ns", SCRIPT, *texts], check=True, capture_output=True, text=True)
        pl.DataFrame([_measure(run.stdout, run.stderr, float(labels["media_mbps"]))]).write_parquet(kept)
    found = pl.read_parquet(kept).row(0, named=True)
    return found | by_lateness(found["stream_mbps"], found["late_percent"] / 100)


def _measure(packets: str, lengths: str, media_mbps: float) -> dict[str, float]:
    """The study's metrics from the stream's packets and the queue's length, both with their times."""
    count = int(media_mbps * 1e6 * SECONDS / 8 / PACKET)
    came = np.full(count, np.inf)
    for line in packets.splitlines():
        time_s, sequence = line.split()
        if int(sequence) < count:
            came[int(sequence)] = min(came[int(sequence)], float(time_s))
    # In order, as the application reads them.
    read = np.maximum.accumulate(came)
    start = read[int(np.ceil(count * START_SHARE)) - 1]
    due = start + np.arange(count) * PACKET * 8 / (media_mbps * 1e6)
    arrived = read[np.isfinite(read)]
    queue = np.array([line.split() for line in lengths.splitlines()], dtype=float)
    # ns-2's monitor does not see what an error model takes from the link: there it counts below zero, and says nothing.
    queue[:, 1] = np.where(queue[:, 1].min() < 0, np.nan, queue[:, 1])
    during = queue[queue[:, 0] <= (start + SECONDS if np.isfinite(start) else 2 * SECONDS), 1]
    late = float((read > due).mean()) if np.isfinite(start) else 1.0
    return {
        "stream_mbps": len(arrived) * PACKET * 8e-6 / float(arrived[-1]),
        "late_percent": 100 * late,
        "fill_time_s": float(start),
        "queue_packets": float(during.mean()),
        "queue_jitter_packets": float(during.std()),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3)

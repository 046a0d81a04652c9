"""Play wifi-to-lte on the wire by migration and write its table into docs/appendix/quic-measured.md: `sudo .venv/bin/python docs/walk.py`.

The scenario's film, ladder and live chunks, from `playpath serve` over two emulated links to the simulator's player over quinn's client
(`cargo build --release --manifest-path crates/quic-peers/Cargo.toml --target-dir target --example walker`), which goes on from the other
interface a second after WiFi has ended. Beside the simulator, with the statistics of `playpath twin`. Sessions are kept in out/walk.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from marks import fill

from playpath.base.metrics import metric
from playpath.real.testbed import namespaces, players
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.carriers import Carried
from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.players.own import Own
from playpath.real.testbed.players.scene import Played, Scene, Watch
from playpath.real.testbed.runner import run_kernel
from playpath.real.testbed.sampling import Flow
from playpath.real.testbed.wire import WireQuic
from playpath.real.twin import Twin
from playpath.real.twin_run import twin
from playpath.results.comparison import format_summary
from playpath.results.record import Session
from playpath.run.worlds import WireWorld, cc_name, session_of
from playpath.scenario import Scenario, load, resolved

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGE = DOCS / "appendix" / "quic-measured.md"
WALKER = ROOT / "target" / "release" / "examples" / "walker"
SENDER = "quic migrates"
SECONDS = 50
"""WiFi ends between 30 and 40 s."""
FIGURES = (
    "stall_time_s",
    "stall_count",
    "startup_delay_s",
    "mean_rate_kbps",
    "goodput_mbps",
    "mean_rtt_ms",
    "retransmitted_packets",
)


class Walker(Own):
    """The player of quinn's client in the place of `playpath-client`."""

    after_s = 1.0

    def play(self, scene: Scene, url: str) -> Played:
        """Play what the plan describes."""
        ends = [end.client_address for end in scene.bed.ends]
        child = scene.bed.start("player", "client", [str(WALKER), url, *ends, str(self.after_s)])
        watch = Watch(scene.bed, child, scene.until_s + 10.0)
        while child.process.poll() is None:
            watch.check()
            time.sleep(0.05)
        if child.process.returncode != 0:
            raise TestbedError(child.words() or f"the player ended with status {child.process.returncode}")
        output = json.loads(child.output.read_text())
        return Played(
            events=output["events"], reported={}, body_bytes=output["body_bytes"], read_bytes=output["read_bytes"],
            elapsed_s=output["elapsed_s"], connections=[], series={}, p1203=output["p1203"],
            cut_at_s=scene.until_s if output["is_cut"] else None, warnings=[],
        )  # fmt: skip


class Carrier(WireQuic):
    """Both links lead to the server's one address."""

    def check(self, scenario: resolved.Document, sender: resolved.Sender) -> None:
        """It is the client that moves; the server knows nothing of it before it has."""
        super().check(scenario, sender)
        self._sender = {key: value for key, value in self._sender.items() if not key.startswith("handover")}

    def prepare(self, bed: Testbed) -> None:
        """What leaves from the second interface's address takes its link."""
        first, second = bed.ends
        way = (first.server_address, "dev", second.client_device, "table", "7")
        namespaces.run_ip("-n", bed.client, "route", "add", *way)
        namespaces.run_ip("-n", bed.client, "rule", "add", "from", second.client_address, "table", "7")

    def close(self, bed: Testbed, flows: Sequence[Flow], described: Mapping[str, float], start: float) -> Carried:
        """The server's counts go on where the client has moved: what follows is what came after."""
        carried = super().close(bed, flows, described, start)
        before: dict[str, float] = {}
        for flow in carried.flows:
            counts = dict(flow.counts)
            flow.counts = counts | {name: counts[name] - before.get(name, 0) for name in _SUMS}
            before = counts
        return carried


_SUMS = ("sent_packets", "retransmitted_packets", "rto_count", "rtt_sum_ms", "rtt_samples")


class World(WireWorld):
    """The world `wire` with that client."""

    def session(self, scenario: Scenario, sender: str, seed: int, **_: Any) -> Session:
        """One session."""
        playing = scenario.playing(sender)
        found = run_kernel(
            playing.resolved, playing.sender(sender), seed, logs=self.files.logs, tolerance=self.tolerance, world="wire",
            carrier=Carrier(),
        )  # fmt: skip
        return session_of(self, scenario, sender, seed, found, cc=cc_name(playing, sender), series={})


def play(after_s: float, seeds: int, parallel: int) -> Twin:
    """Both worlds, where the client's system notices so much later."""
    Walker.after_s = after_s
    players.PLAYERS["own"] = Walker
    whole = load("wifi-to-lte").resolved
    (sender,) = (dict(one) for one in whole["sender"] if one["name"] == SENDER)
    sender |= {"transport": {"name": "quic", "client": "quinn"}, "handover_after": f"{after_s:g} s"}
    walk = {**whole, "sender": [sender], "run": {"duration": f"{SECONDS} s", "seeds": seeds}}
    world = World("own", tolerance="20 ms")
    return twin(walk, seeds=seeds, store=ROOT / "out" / "walk", parallel=parallel, kernel=world, left_out=lambda _: {})


def main() -> None:
    """Run what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parallel", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--after", type=float, nargs="+", default=[1.0, 3.0])
    given = parser.parse_args()
    lines = ["| | " + " | ".join(f"noticed after {after:g} s: sim, wire" for after in given.after) + " |"]
    lines.append("|---|" + "---|" * len(given.after))
    found = [play(after, given.seeds, given.parallel) for after in given.after]
    for name in FIGURES:
        rows = [next((m for m in one.metrics if m.metric == name), None) for one in found]
        cells = [f"{format_summary(m.sim)}, {format_summary(m.kernel)}: {m.verdict}" if m else "" for m in rows]
        lines.append(f"| {metric(name).axis} | " + " | ".join(cells) + " |")
    text = "\n".join(lines) + "\n"
    print(text)
    fill(PAGE, "docs/walk.py", text)


if __name__ == "__main__":
    main()

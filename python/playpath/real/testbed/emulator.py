"""The link emulator of a run: one process, a pair of TUN devices per path, one end in each namespace."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from playpath.real.testbed import programs
from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.processes import Child
from playpath.results.recorded import ClassRecord
from playpath.scenario import resolved


@dataclass(frozen=True)
class PathEnds:
    """The two ends of a path."""

    name: str
    server_device: str
    client_device: str
    server_address: str
    client_address: str


def ends_of(paths: Sequence[str]) -> list[PathEnds]:
    """Devices and addresses by position; they are point-to-point, so every path is a separate network."""
    return [PathEnds(name, f"down{i}", f"up{i}", f"10.77.{i}.1", f"10.77.{i}.2") for i, name in enumerate(paths)]


def network(paths: Sequence[resolved.Path], links: Sequence[resolved.Link] = ()) -> resolved.Document:
    """A scenario with only paths, for a test bed that runs something else over them."""
    return {"path": list(paths), "link": list(links), "traffic": [{"kind": "bulk"}]}


def program() -> str:
    return programs.find("playpath-emulator")


class LinkReport(TypedDict):
    """The statistics of a link; the directions of a path have no name of their own."""

    name: str
    utilisation: float
    offered_packets: int
    delivered_packets: int
    dropped_packets: dict[str, int]
    ce_marked_packets: int
    mean_queue_packets: float
    sd_queue_packets: float
    rewritten_packets: NotRequired[int | None]
    classes: NotRequired[dict[str, ClassRecord]]


class DirectionReport(TypedDict):
    """How late packets were delivered in a direction of a path: quantiles and `mean`, in microseconds."""

    lateness_us: dict[str, float]


class PathReport(TypedDict):
    """Both directions of a path."""

    name: str
    down: DirectionReport
    up: DirectionReport


class FlowReport(TypedDict):
    """The links' statistics of a flow; data packets are those of the server."""

    path: str
    protocol: Literal["tcp", "udp"]
    server: str
    server_port: int
    client: str
    client_port: int
    data_packets: int
    dropped_data_packets: int
    arrived_bytes: int
    rtt_sum_ms: float
    rtt_samples: int


class SwitchReport(TypedDict):
    """Switches between paths on a server port: in the order of the data (`count`), and of all data packets (`on_the_wire`)."""

    server_port: int
    count: int
    on_the_wire: int


class Report(TypedDict, total=False):
    """The emulator's report (crates/emulator/src/report.rs); empty if it left none."""

    valid: bool
    problems: list[str]
    warnings: list[str]
    paths: list[PathReport]
    links: list[LinkReport]
    flows: list[FlowReport]
    switches: list[SwitchReport]
    start_ns: int
    series: dict[str, dict[str, list[float]]]


DIRECTIONS: tuple[Literal["down", "up"], ...] = ("down", "up")


class Emulator:
    """The running emulator."""

    def __init__(self, config: Mapping[str, object], folder: Path) -> None:
        config_path = folder / "emulator.json"
        config_path.write_text(json.dumps(config))
        self.child = Child("emulator", [program(), str(config_path)], folder, stdin=subprocess.PIPE)

    def begin_at(self, start: float) -> None:
        """Begin the run at this time of the monotonic clock: traces, outages, losses and statistics count from then on."""
        self.child.check()
        assert self.child.process.stdin is not None
        try:
            self.child.process.stdin.write(f"start {round(start * 1e9)}\n".encode())
            self.child.process.stdin.flush()
        except OSError as error:
            raise TestbedError(f"the emulator does not listen: {error.strerror}; {self.child.words()}") from None

    def end(self) -> Report:
        """End it and return its report, empty if it left none."""
        self.child.end()
        try:
            report: Report = json.loads(self.child.output.read_text().strip().splitlines()[-1])
        except (OSError, ValueError, IndexError):
            return {}
        if self.child.process.returncode > 0:  # for example because it could not write a capture
            report["warnings"] = [*report.get("warnings", []), self.child.words().removeprefix("playpath-emulator: ")]
        return report

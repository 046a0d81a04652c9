"""The link emulator of a run: one process, a pair of TUN devices per path, one end in each namespace."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from playpath.real.testbed import programs
from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.processes import Child
from playpath.real.testbed.programs import JsonObject
from playpath.scenario import resolved


@dataclass(frozen=True)
class PathEnds:
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


DIRECTIONS = ("down", "up")


class Emulator:
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

    def end(self) -> JsonObject:
        """End it and return its report (crates/emulator/src/report.rs), empty if it left none."""
        self.child.end()
        try:
            report: JsonObject = json.loads(self.child.output.read_text().strip().splitlines()[-1])
        except (OSError, ValueError, IndexError):
            return {}
        if self.child.process.returncode > 0:  # for example because it could not write a capture
            report["warnings"] = [*report.get("warnings", []), self.child.words().removeprefix("playpath-emulator: ")]
        return report

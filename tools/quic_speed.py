#!/usr/bin/env python3
"""Throughput and processor time of three QUIC servers on loopback, taken in turns: `playpath serve`, quinn, ngtcp2's gtlsserver.

tools/quic_speed.py [--megabytes 200] [--rounds 5]

The client is ngtcp2's gtlsclient, which takes more processor time than any of the servers: so the throughput is mostly its own, and
what tells the servers apart is processor time for each Gbit. Build before: `cargo build --release -p playpath-serve` and
`cargo build --release --manifest-path crates/quic-peers/Cargo.toml --target-dir target --example stack_server`. On a machine with
other work take the ratios, not the figures.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PORT = 47440


def processor_s(pid: int) -> float:
    """Of a process so far, in user and kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def servers(folder: Path) -> dict[str, Callable[[int], list[str]]]:
    """Command lines by name, for a port."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9"]
    subprocess.run(
        [*made, "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    www = folder / "www"
    ours = [str(target / "playpath-serve"), str(www), "--transport", "quic", "--address", "127.0.0.1", "--cc", "cubic"]
    theirs = str(target / "examples" / "stack_server")
    return {
        "playpath": lambda port: [*ours, "--port", str(port)],
        "quinn": lambda port: [theirs, "quinn", f"127.0.0.1:{port}", str(www / "file"), "cubic"],
        "ngtcp2": lambda port: [
            "gtlsserver",
            "-q",
            "--cc=cubic",
            "-d",
            str(www),
            "127.0.0.1",
            str(port),
            str(key),
            str(certificate),
        ],
    }


def measure(command: list[str], port: int, size: int) -> tuple[float, float, float]:
    """Mbit/s, and seconds of processor time for each Gbit: the server's, the client's."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        time.sleep(1.0)
        before, start = processor_s(server.pid), time.monotonic()
        client = [
            "gtlsclient",
            "-q",
            "--exit-on-all-streams-close",
            "127.0.0.1",
            str(port),
            f"https://localhost:{port}/file",
        ]
        with subprocess.Popen(client, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        took, used = time.monotonic() - start, processor_s(server.pid) - before
        server.kill()
    if child.returncode != 0:
        raise SystemExit(f"gtlsclient ended with status {child.returncode} at {command[0]}")
    gbit = size * 8e-9
    return gbit * 1e3 / took, used / gbit, (usage.ru_utime + usage.ru_stime) / gbit


def main() -> None:
    """Take turns, print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    wanted = parser.parse_args()
    for program in ("gtlsclient", "gtlsserver", "openssl"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is missing: apt install ngtcp2-client ngtcp2-server openssl")
    size = wanted.megabytes * 1_000_000
    found: dict[str, list[tuple[float, float, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "www").mkdir()
        # Written, so that it is in memory: no server waits for a disk.
        with (folder / "www" / "file").open("wb") as file:
            for _ in range(wanted.megabytes):
                file.write(os.urandom(1_000_000))
        commands = servers(folder)
        for turn in range(wanted.rounds):
            for index, (server, command) in enumerate(commands.items()):
                port = PORT + 3 * turn + index
                found.setdefault(server, []).append(measure(command(port), port, size))
    print(
        f"| server | Mbit/s | s of processor for each Gbit | of the client |  load {os.getloadavg()[0]:.0f}\n| -- | -- | -- | -- |"
    )
    for server, taken in found.items():
        speed, used, of_client = (statistics.median(one[i] for one in taken) for i in range(3))
        print(f"| {server} | {speed:.0f} | {used:.2f} | {of_client:.2f} |")
    ratio = [ours[1] / theirs[1] for ours, theirs in zip(found["playpath"], found["quinn"], strict=True)]
    print(f"\nplaypath's processor time over quinn's, by turn: {', '.join(f'{one:.2f}' for one in ratio)}")


if __name__ == "__main__":
    main()

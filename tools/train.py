#!/usr/bin/env python3
"""Plays what people play, a minute of each, for an engine that is laid out by it (`make fast`, `tools/wheel`).

maturin runs this with an engine that counts which way every branch goes. Only the engine is needed. Results do not depend on it: a
build with a profile does the same in another order of its code. Held to that by the line that is printed, a digest of all results.
"""

import hashlib
import json
from pathlib import Path

from playpath import _engine

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
MINUTE = json.dumps({"set": {"run.duration": "60 s"}})
# What has no scenario of its own: bulk flows of both profiles, few and many.
BULK = """
path = [{{ name = "bottleneck", rate = "{mbps} Mbit/s", rtt = "50 ms", queue = "1 bdp" }}]
traffic = [{{ kind = "bulk", cc = "newreno", profile = "{profile}", count = {flows}, start_spread = "1 s" }}]
run = {{ duration = "20 s" }}
"""


def play(text: str, overrides: str) -> str:
    """One session of every sender, the first one traced, too; returns the digest of their records and traces."""
    resolved = _engine.resolve(text, str(SCENARIOS), overrides)
    senders = [sender["name"] for sender in json.loads(resolved)["sender"]]
    digest = hashlib.sha256()
    for sender in senders:
        digest.update(_engine.run(resolved, sender, 1)[0].encode())
    record, traces = _engine.run(resolved, senders[0], 2, True, True)
    digest.update(record.encode())
    for name, columns in sorted(traces.items()):
        for column, values in sorted(columns.items()):
            digest.update(f"{name}.{column}".encode() + values.tobytes())
    return digest.hexdigest()


def main() -> None:
    """Plays all of it."""
    digests = [play(file.read_text(encoding="utf-8"), MINUTE) for file in sorted(SCENARIOS.glob("*.toml"))]
    for profile in ("ns2", "linux"):
        for flows, mbps in ((1, 10), (10, 100), (100, 10)):
            digests.append(play(BULK.format(profile=profile, flows=flows, mbps=mbps), "{}"))
    print(hashlib.sha256("".join(digests).encode()).hexdigest())


if __name__ == "__main__":
    main()

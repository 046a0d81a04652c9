"""Make docs/appendix/tcp-rules.md and quic-rules.md: `.venv/bin/python docs/rules.py`. Each packet script of tests/packets is a rule
of TCP; the page says which hold for Linux as well, and of the others why not. QUIC's rules are tests in Rust, each with its rule above it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "tests" / "packets"
PAGE = ROOT / "docs" / "appendix" / "tcp-rules.md"
QUIC_TESTS = ROOT / "crates" / "transport" / "tests"
QUIC_PAGE = ROOT / "docs" / "appendix" / "quic-rules.md"

HEAD = """# TCP's rules, one by one

Each rule is a script: one endpoint, driven packet by packet, and every segment that it must send, with its time. All {all} hold for our
endpoint (`cargo test -p playpath-transport --test packets`). {both} hold for Linux 6.18's TCP too, through a TUN device (`sudo pytest
tests/testbed/test_kernel_tcp.py`); of the other {ours} the last column says why. Where Linux names a rule in packet scripts of its own, the
script here is in our words. `tests/packets/README.md` says how to read one.

Made by `docs/rules.py`; do not edit.
"""

QUIC_HEAD = """# QUIC's rules, one by one

Each rule is a test: one endpoint, driven packet by packet by a peer that the test plays, or a pair between which the test decides what
arrives. All {all} hold (`cargo test -p playpath-transport --test quic_rules --test quic_frames --test quic_musts`). They are what RFC 9000
and RFC 9002 say an endpoint MUST do about streams and limits, the handshake, acknowledgements, loss, window and pacing, ECN, addresses and
the end of a connection. Not here, because packets are records in the simulator: connection ids, Retry, version negotiation, key updates and
the encoding of frames, which the server has on real sockets (tests in `crates/serve`, `crates/quic-peers`, `tests/quic_codec.rs`). The
arithmetic of round trips, windows and timers has worked examples beside its code.

Made by `docs/rules.py`; do not edit.
"""


@dataclass(frozen=True)
class Rule:
    """A script: its name, what it says, and why it does not hold for Linux; empty if it does."""

    name: str
    words: str
    reason: str


def rules() -> list[Rule]:
    """Every script's, by name."""
    return [_rule(file) for file in sorted(SCRIPTS.glob("*.pkt"))]


def _rule(file: Path) -> Rule:
    lines = file.read_text(encoding="utf-8").splitlines()
    words = " ".join(line.removeprefix("#").strip() for line in takewhile(lambda line: line.startswith("#"), lines))
    holds = next(line for line in lines if line.startswith("holds "))
    return Rule(file.stem, words, holds.removeprefix("holds ours: ") if holds != "holds linux" else "")


def page() -> str:
    """The page, before it is formatted."""
    found = rules()
    both = sum(not rule.reason for rule in found)
    lines = [
        HEAD.format(all=len(found), both=both, ours=len(found) - both),
        "| script | rule | Linux |",
        "|---|---|---|",
    ]
    lines += [f"| `{rule.name}` | {_cell(rule.words)} | {_cell(rule.reason) or 'the same'} |" for rule in found]
    return "\n".join(lines) + "\n"


def quic_rules() -> list[Rule]:
    """QUIC's, file by file: the comment above a test is its rule."""
    test = re.compile(r"((?:^///[^\n]*\n)*)^#\[test\]\nfn (\w+)", re.MULTILINE)
    files = [QUIC_TESTS / f"quic_{name}.rs" for name in ("rules", "frames", "musts")]
    found = [match for file in files for match in test.finditer(file.read_text(encoding="utf-8"))]
    return [
        Rule(match[2], " ".join(line.removeprefix("///").strip() for line in match[1].splitlines()), "")
        for match in found
    ]


def quic_page() -> str:
    """As `page`, of QUIC."""
    found = quic_rules()
    lines = [QUIC_HEAD.format(all=len(found)), "| test | rule |", "|---|---|"]
    lines += [f"| `{rule.name}` | {_cell(rule.words)} |" for rule in found]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*")


def main() -> None:
    """Write the pages."""
    PAGE.write_text(page(), encoding="utf-8")
    QUIC_PAGE.write_text(quic_page(), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "mdformat", PAGE, QUIC_PAGE], check=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes a manual page for playpath and each of its commands: `tools/man.py FOLDER`. `make wheel` puts them into the wheel.

What they say is what `--help` says: both come from the commands' declarations.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from playpath.base.manifest import package_version
from playpath.cli import app
from playpath.cli.commands import COMMANDS

_EXIT = (("0", "done"), ("1", "the run failed"), ("2", "the input is wrong"), ("130", "stopped by Ctrl-C"))
_OWN_PROGRAMS = ("cc",)
"""Commands whose options are their program's."""


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name, groups before what is in them."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group)
    for name in COMMANDS:
        found = group.get_command(context, name)
        yield f"playpath {name}", found
        for inner, command in getattr(found, "commands", {}).items():
            yield f"playpath {name} {inner}", command


def page(name: str, command: Any) -> str:
    """The manual page of a command."""
    text = (command.help or "").strip()
    summary, _, rest = text.partition("\n\n")
    parts = [
        _header(name),
        section("NAME", f"{_text(name.replace(' ', '-'))} \\- {_text(_line(summary).rstrip('.'))}"),
        section("SYNOPSIS", synopsis(name, command)),
        section(
            "DESCRIPTION", "\n.PP\n".join(_text(_line(part)) for part in [summary, *rest.split("\n\n")] if part.strip())
        ),
    ]
    if hasattr(command, "commands"):
        inner = "".join(_item(word, _line(sub.help or "").split(". ")[0]) for word, sub in command.commands.items())
        parts.append(section("COMMANDS", inner))
    elif name.split()[1] not in _OWN_PROGRAMS:
        parts.append(section("OPTIONS", "".join(_options(command))))
    parts.append(section("EXIT STATUS", "".join(_item(code, meaning) for code, meaning in _EXIT)))
    parts.append(section("SEE ALSO", ".BR playpath (1)"))
    return "".join(parts)


def main_page() -> str:
    """The manual page of playpath itself."""
    inner = "".join(_item(f"playpath-{name}(1)", what) for name, what in COMMANDS.items())
    return "".join(
        (
            _header("playpath"),
            section("NAME", "playpath \\- rank video senders by what the viewer sees on a network path"),
            section("SYNOPSIS", ".B playpath\n.I COMMAND\n[OPTIONS]"),
            section("DESCRIPTION", _text(app.info.help or "")),
            section("COMMANDS", inner),
            section("EXIT STATUS", "".join(_item(code, meaning) for code, meaning in _EXIT)),
        )
    )


def section(title: str, body: str) -> str:
    """A section; nothing without a body."""
    return f".SH {title}\n{body.rstrip()}\n" if body.strip() else ""


def synopsis(name: str, command: Any) -> str:
    """Name, options, arguments."""
    arguments = [_argument(p) for p in command.params if p.param_type_name == "argument"]
    words = ["COMMAND"] if hasattr(command, "commands") else arguments
    return f".B {_text(name)}\n[OPTIONS] {_text(' '.join(words))}"


def _options(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            yield _item(_argument(parameter), parameter.help or "")
        elif parameter.name != "help":
            value = f" {parameter.metavar}" if parameter.metavar and not parameter.is_flag else ""
            yield _item("".join((", ".join(parameter.opts), value)), parameter.help or "")


def _argument(parameter: Any) -> str:
    """An argument by its name, in brackets if it may be left out."""
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required else f"[{name}]"


def _header(name: str) -> str:
    return f'.TH "{name.replace(" ", "-").upper()}" 1 "" "playpath {package_version()}" "playpath"\n'


def _item(term: str, what: str) -> str:
    return f".TP\n.B {_text(term)}\n{_text(_line(what))}\n"


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _text(text: str) -> str:
    """Text for troff: no backslash, hyphen or leading dot of ours is a command."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


def main() -> None:
    """Write the pages."""
    if len(sys.argv) != 2:
        sys.exit("usage: tools/man.py FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "playpath.1").write_text(main_page(), encoding="utf-8")
    for name, command in commands():
        (folder / f"{name.replace(' ', '-')}.1").write_text(page(name, command), encoding="utf-8")


if __name__ == "__main__":
    main()

"""`playpath cc`: our congestion controls in this machine's kernel, managed by `playpath-bpf`; here its output is made readable."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from playpath.cli.commands import AS_TYPED
from playpath.show import console

if TYPE_CHECKING:
    from playpath.real.testbed.programs import JsonObject

SETTINGS = AS_TYPED


def command(context: typer.Context) -> int:
    """Load, list, show, set and unload kernel congestion controls: `playpath cc help` says how.

    `list` and `show` print readable tables; with --json, and for all other commands, `playpath-bpf` prints its own output.
    """
    from playpath.real.testbed.controls import loader

    words = list(context.args) or ["help"]
    render = _FOR_PEOPLE.get(words[0])
    if render is None or "--help" in words or "-h" in words:
        return subprocess.run([loader(), *words], check=False).returncode
    plain = [word for word in words if word != "--json"]
    if plain != words:
        return subprocess.run([loader(), *plain], check=False).returncode
    done = subprocess.run([loader(), *words], check=False, stdout=subprocess.PIPE)
    if done.returncode == 0:
        render(json.loads(done.stdout))
    return done.returncode


def print_controls(entries: list[JsonObject]) -> None:
    """Each control with its parameters, and the names under which it is registered."""
    for entry in entries:
        console.out.print(
            f"[bold]{console.plain(entry['name'])}[/bold]  {console.plain(entry['summary'])}{_registered(entry)}"
        )
        if entry["params"]:
            table = Table(box=None, show_header=False, padding=(0, 1, 0, 4))
            for p in entry["params"]:
                table.add_row(
                    p["name"],
                    f"= {_value(p['default'])}",
                    console.plain(p["allowed"]),
                    console.plain(p["doc"]),
                )
            console.out.print(table)


def _registered(entry: JsonObject) -> str:
    if entry["registered"] is None:
        return "  [dim]only root sees whether it is registered[/dim]"
    names = ", ".join(
        r["name"] + ("" if r["link"] is not None else " (unloaded, still in use)") for r in entry["registered"]
    )
    return f"  [green]registered: {console.plain(names)}[/green]" if names else ""


def print_connections(entries: list[JsonObject]) -> None:
    """Each live connection: windows, rate and phase; its control's estimates; its parameters."""
    if not entries:
        console.out.print("no live connection uses one of our controls")
    for c in entries:
        console.out.print(
            f"[bold]{console.plain(c['cc'])}[/bold]  port {c['local_port']} to {c['peer']}, {c['phase'].replace('_', ' ')}"
        )
        console.out.print(f"    {_windows(c)}", soft_wrap=True)
        if c["details"]:
            console.out.print(f"    found: {_pairs(c['details'])}", soft_wrap=True)
        if c["params"]:
            console.out.print(f"    parameters, the {c['params_from']}'s: {_pairs(c['params'])}", soft_wrap=True)


def _windows(c: JsonObject) -> str:
    pace = "off" if c["pacing_rate"] is None else f"{c['pacing_rate'] * 8e-6:.3g} Mbit/s"
    infinite = c["snd_ssthresh"] >= 0x7FFF_FFFF
    return (
        f"cwnd {c['snd_cwnd']} packets, ssthresh {'infinite' if infinite else c['snd_ssthresh']}, in flight {c['in_flight']}, "
        f"RTT {c['rtt_us'] / 1000:.1f} ms, pacing rate {pace}"
    )


def _value(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value).lower()


def _pairs(values: JsonObject) -> str:
    return console.plain(", ".join(f"{name} {_value(value)}" for name, value in values.items()))


_FOR_PEOPLE: dict[str, Callable[[list[JsonObject]], None]] = {"list": print_controls, "show": print_connections}

"""Options that several commands share."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from playpath.base.errors import InputError
from playpath.base.printing import keep_stdout
from playpath.base.quantity import parse
from playpath.base.words import listing
from playpath.base.worlds import REAL, WORLDS
from playpath.cli.commands import completing
from playpath.scenario import parse_value, split_outside

_TIMES = ("ns", "us", "µs", "ms", "s", "sec", "min", "h")

ScenarioFile = Annotated[
    Path,
    typer.Argument(
        metavar="SCENARIO",
        help="Scenario file (TOML or JSON), or the name of a shipped one.",
        autocompletion=completing.scenario,
    ),
]
Cc = Annotated[
    str | None,
    typer.Option(
        "--cc",
        metavar="LIST",
        help='Use these congestion controls: "cubic,ccplb(pob_rate=2),my_module:MyClass".',
        autocompletion=completing.registered("cc"),
    ),
]
Abr = Annotated[
    str | None,
    typer.Option(
        "--abr",
        metavar="LIST",
        help='Play every sender with these ABR rules: "bola,my_module:MyRule".',
        autocompletion=completing.registered("abr"),
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="LIST",
        help='Use these MPTCP schedulers: "gr-sty,dft(penalise=false)".',
        autocompletion=completing.registered("scheduler"),
    ),
]
Seeds = Annotated[int | None, typer.Option("--seeds", metavar="N", min=1, help="Replications; seeds are 1 to N.")]
UntilDecided = Annotated[
    bool,
    typer.Option("--until-decided", help="Add seeds until the best is decided; senders proven worse stop early."),
]
Most = Annotated[
    int | None,
    typer.Option("--most", metavar="N", min=2, help="With --until-decided: at most N seeds; 256 by default."),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", metavar="N", min=1, help="Number of threads; results do not depend on it.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help='Change a setting: --set player.buffer="2 s"; for one path of several: --set path.NAME.loss="1 %". Repeatable.',
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY=A,B",
        help="Compare values of any key: --vary path.queue=droptail,fq_codel. Repeatable: every combination.",
    ),
]
Transport = Annotated[
    str | None,
    typer.Option(
        "--transport",
        metavar="LIST",
        help="Transport of the senders: tcp, quic; several are compared. Same as --set or --vary sender.transport=LIST.",
    ),
]
PricePerGb = Annotated[
    float | None,
    typer.Option(
        "--price-per-gb", metavar="PRICE", min=0, help="Show what an hour of video costs at this price for 10^9 bytes."
    ),
]
Sensitivity = Annotated[
    bool,
    typer.Option(
        "--sensitivity",
        help="Also show which settings of the path change the answer most: about eight variations, ten seeds each.",
    ),
]
Latex = Annotated[
    Path | None, typer.Option("--latex", metavar="FILE", help="Also write the ranking as a LaTeX table (booktabs).")
]
Prefer = Annotated[
    str | None,
    typer.Option(
        "--prefer",
        metavar="WHAT",
        help="Which criterion ranks first: stalls, picture, start, or a QoE metric. See the guide.",
    ),
]
WorldName = Annotated[
    str,
    typer.Option(
        "--world",
        metavar="NAME",
        help=f"{', '.join(WORLDS)}; {listing(REAL)} need root.",
        autocompletion=completing.world,
    ),
]
Player = Annotated[
    str | None,
    typer.Option(
        "--player",
        metavar="NAME",
        help="In the worlds kernel and wire: own, vlc, dashjs, hlsjs, shaka, curl; iperf3 in kernel only. "
        "Over QUIC: dashjs, hlsjs, shaka, ngtcp2.",
        autocompletion=completing.player,
    ),
]
Tolerance = Annotated[
    str | None,
    typer.Option(
        "--tolerance",
        metavar="TIME",
        help="In the kernel world: how late the link may be (99th percentile); by default a limit derived for each path.",
    ),
]


def _alone_on_stdout(is_asked: bool) -> bool:
    if is_asked:
        keep_stdout()
    return is_asked


Json = Annotated[
    bool,
    typer.Option("--json", callback=_alone_on_stdout, help="Print one JSON object on stdout and nothing else there."),
]
KeepNames = Annotated[
    bool, typer.Option("--keep-names", help="Keep viewers' names and addresses; by default they are hashed.")
]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for results.")]


def choices(text: str | None, option: str) -> list[str] | None:
    """Split `"cubic, ccplb(a=1)"` into a list; None stays None."""
    if text is None:
        return None
    found = split_outside(text)
    if not found:
        raise InputError(f"{option} '{text}': give at least one name; see `playpath list`")
    return found


def world_with(world: str, player: str | None) -> str:
    """The world's name combined with the player's, as in `kernel:vlc`."""
    if player is None:
        return world
    if ":" in world:
        raise InputError(f"--player {player}: world '{world}' names a player already")
    if world not in REAL:
        raise InputError(
            f"--player {player}: real players run in the worlds {' and '.join(REAL)} only; add --world kernel"
        )
    return f"{world}:{player}"


def is_time(text: str) -> bool:
    """Whether it is a duration above zero."""
    with contextlib.suppress(InputError):
        number, unit = parse(text, "time")
        return number > 0 and unit in _TIMES
    return False


def check_tolerance(text: str | None) -> str | None:
    """A duration above zero, or none."""
    if text is None or is_time(text):
        return text
    raise InputError(f"--tolerance '{text}': give a time above zero, for example '1 ms'")


def of_transport(
    setting: list[str] | None, vary: list[str] | None, transport: str | None
) -> tuple[list[str], list[str]]:
    """Add `--transport` to `--set` if it names one transport, to `--vary` if it names several; before settings of its keys."""
    given = [] if transport is None else [f"sender.transport={transport}"]
    is_one = len(split_outside(transport or "")) == 1
    return [*(given if is_one else []), *(setting or [])], [*(vary or []), *([] if is_one else given)]


def of_one_transport(setting: list[str] | None, transport: str | None) -> list[str]:
    """Add the `--transport` of a single session to `--set`."""
    setting, several = of_transport(setting, None, transport)
    if several:
        raise InputError(f"--transport {transport}: one session has one transport; playpath compare plays several")
    return setting


def varied(items: list[str] | None) -> dict[str, str]:
    """Parse `["path.queue=droptail,pie"]` into a mapping: dotted key → comma-separated list."""
    found: dict[str, str] = {}
    for item in items or []:
        key, equals, values = (part.strip() for part in item.partition("="))
        if not equals or not key or not values:
            raise InputError(f"--vary '{item}': expected KEY=A,B, for example path.queue=droptail,fq_codel")
        if key in found:
            raise InputError(f"--vary {key}: given twice; write its values as one list")
        found[key] = values
    return found


def settings(items: list[str] | None) -> dict[str, object]:
    """Parse `["player.buffer=2 s"]` into a mapping: dotted key → value."""
    found: dict[str, object] = {}
    for item in items or []:
        key, equals, value = item.partition("=")
        if not equals or not (key := key.strip()):
            raise InputError(f"--set '{item}': expected KEY=VALUE, for example player.buffer=\"2 s\"")
        if key in found:
            too = "; --transport gives it, too" if key == "sender.transport" else ""
            raise InputError(f"--set {key}: given twice{too}")
        found[key] = parse_value(value)
    return found


def until_decided(is_asked: bool, most: int | None) -> int | bool | None:
    if most is not None and not is_asked:
        raise InputError(f"--most {most}: only with --until-decided")
    return most or is_asked or None

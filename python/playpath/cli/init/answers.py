"""The answers of `playpath init` by the names of their flags, and the commented scenario that follows from them.

Nothing is checked here: the engine reads the text, and its message is shown to the user.
"""

import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from playpath.base.errors import unknown_name
from playpath.base.quantity import MBPS, measure
from playpath.scenario import parse_choice, parse_value, read, shipped, split_outside
from playpath.scenario.traces import preview

CLIP = "bigbuckbunny"
ONE_RATE = "one"
WHOLE = "whole"
DEFAULTS = {
    "video": "5 Mbit/s",
    "duration": "120 s",
    "ladder": ONE_RATE,
    "buffer": "2 s",
    "path": "figures",
    "rate": "20 Mbit/s",
    "rtt": "40 ms",
    "loss": "0 %",
    "queue": "1 bdp",
    "cc": "cubic, bbr, newreno",
    "seeds": "",
}
FIGURES = ("rate", "rtt", "loss", "queue")
_RATES_MBPS = (5.0, 3.0, 2.0, 1.0, 0.5, 0.2)
_CARRIED = 0.7
"""The share of a path's mean rate that a default video may take, so that every sender has a chance."""
MANIFESTS = (".mpd", ".m3u8")
FILES = (".csv", ".mp4", ".m4v", ".mov")
_COMMENTS = {
    "rate": "what the narrowest link carries",
    "rtt": "there and back, without waiting in queues",
    "loss": "random, or in bursts; drops of a full queue come on top",
    "queue": "how much may queue in front of the narrowest link",
    "trace": "what the link carries, over time; it repeats",
    "jitter": "variation of the hosts' delay",
    "start": "each seed begins at another point of the trace",
}

Answers = Mapping[str, str]


def is_manifest(video: str) -> bool:
    """Whether the video is a manifest, with its own ladder and duration."""
    return video.endswith(MANIFESTS)


def is_file(video: str) -> bool:
    """Whether the video is a file rather than a rate."""
    return video.endswith(FILES)


def is_ladder(video: str) -> bool:
    """Whether the video is given as several rates."""
    return "," in video and not is_file(video) and not is_manifest(video)


def adapts(answers: Answers) -> bool:
    """Whether the player changes the rate."""
    video = answers["video"]
    return is_manifest(video) or is_ladder(video) or answers.get("ladder", ONE_RATE) != ONE_RATE


@cache
def models() -> Mapping[str, Mapping[str, Any]]:
    """Shipped scenarios with a video and one path."""
    documents = {name: read(name) for name in sorted(shipped.files())}
    return {
        name: document
        for name, document in documents.items()
        if "video" in document and "population" not in document and len(document.get("path", [])) == 1
    }


def usual_video(flags: Answers) -> str:
    """A video that the path can carry: that of the shipped scenario named by `like`, otherwise a rate well below the path's."""
    document = models().get(flags.get("like", ""), {})
    ladder = document.get("player", {}).get("ladder")
    found = ladder if isinstance(ladder, str) else document.get("video", {}).get("rate")
    mbps = _capacity_mbps(flags)
    if found is None and mbps is not None:
        carried = next((rate for rate in _RATES_MBPS if rate <= _CARRIED * mbps), _RATES_MBPS[-1])
        found = f"{carried:g} Mbit/s"
    return found or DEFAULTS["video"]


def _capacity_mbps(flags: Answers) -> float | None:
    """The mean rate of the path; None if none is given or it is invalid, which is reported when that question is asked."""
    if "trace" not in flags:
        return measure(flags.get("rate"), MBPS)
    try:
        return preview(Path(flags["trace"]).read_text()).mean_mbps
    except (OSError, ValueError):
        return None


def shipped_trace(answers: Answers) -> Path | None:
    """The trace file that must lie next to a scenario whose path is that of a shipped one."""
    name = answers.get("like", "")
    file = models()[name]["path"][0].get("trace") if name in models() else None
    return None if file is None else shipped.files()[name].parent / file


def text(answers: Answers, name: str, folder: Path, trace_path: Path | None = None) -> str:
    """The scenario in TOML.

    Args:
        answers: Flag → value; what is missing is its default.
        name: Name of the scenario.
        folder: Where the scenario will be; file names are relative to it.
        trace_path: Where a shipped scenario's trace is now, before it is copied.
    """
    given = {**DEFAULTS, **answers}
    run = (
        _block("[run]", [("seeds", int(given["seeds"]), "fewer than 8 decide nothing; --until-decided adds more")])
        if given["seeds"]
        else [
            "# No number of seeds is set: `playpath compare` adds seeds until it is decided. To set one: [run] seeds = 10"
        ]
    )
    blocks = (
        [f"# Made by `playpath init`; to run it: playpath compare {name}.toml", f"name = {_toml(name)}"],
        _video(given, folder),
        _player(given),
        _path(given, folder, trace_path),
        _senders(given["cc"]),
        run,
    )
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _video(given: Answers, folder: Path) -> list[str]:
    video = given["video"]
    if is_manifest(video):
        return _block("[video]", [("manifest", _from(folder, video), "its qualities, segments and sizes are played")])
    lines = [("source", CLIP, "the built-in clip: sizes of real pictures")]
    if is_file(video):
        lines = [("source", _from(folder, video), "sizes and times of its pictures")]
    elif video != CLIP and not adapts(given):
        lines.append(("rate", video, "the clip's pictures are scaled to it"))
    if given["duration"] != WHOLE:
        lines.append(("duration", given["duration"], "repeated, or cut"))
    return _block("[video]", lines)


def _player(given: Answers) -> list[str]:
    if not adapts(given):
        kind = ("kind", "progressive", 'one quality: late pictures are skipped; policy = "rebuffer" waits for them')
        return _block("[player]", [kind, ("buffer", given["buffer"], "how much is loaded before playback starts")])
    lines = [
        ("kind", "dash", "segments, each in a quality that a rule chooses"),
        ("abr", "dynamic", "the rule of dash.js; others: playpath list abr"),
    ]
    if not is_manifest(given["video"]):
        ladder = given["video"] if is_ladder(given["video"]) else given["ladder"]
        lines += [("ladder", ladder, "the qualities"), ("segment", "2 s", "how much one request brings")]
    return _block("[player]", lines)


def _path(given: Answers, folder: Path, trace_path: Path | None) -> list[str]:
    table: dict[str, object] = {"name": "path"}
    note = given.get("note", "")
    if "like" in given:
        if given["like"] not in models():
            raise unknown_name("path", given["like"], models())
        table = dict(models()[given["like"]]["path"][0])
        note = f"as in the shipped scenario {given['like']}"
        if (trace := shipped_trace(given)) is not None:
            table["trace"] = str(trace_path) if trace_path else trace.name
            table.setdefault("start", "random")
    elif "trace" in given:
        table |= {"trace": _from(folder, given["trace"]), "start": "random"}
    if "like" not in given:
        table |= {key: given[key] for key in FIGURES if key != "rate" or "trace" not in given}
        table["loss"] = _chosen(given["loss"], "kind")
    lines = [(key, value, _COMMENTS.get(key, "")) for key, value in table.items()]
    return [*([f"# {note}"] if note else []), *_block("[[path]]", lines)]


def _senders(listed: str) -> list[str]:
    found = ["# Who sends: each plays the same video over the same path; names and parameters: playpath list cc"]
    for sender in split_outside(listed):
        found += ["[[sender]]", f"cc = {_toml(_chosen(sender, 'name'))}"]
    return found


def _chosen(text: str, tag: str) -> Any:
    """Turn `"vegas(alpha=2)"` into a table with its parameters; a name alone stays a name."""
    name, colon, settings = parse_choice(text).partition(":")
    pairs = [setting.partition("=") for setting in settings.split(",")] if colon else []
    return {tag: name} | {key.strip(): parse_value(value) for key, _, value in pairs} if pairs else name


def _block(title: str, lines: Iterable[tuple[str, Any, str]]) -> list[str]:
    written = [(f"{key} = {_toml(value)}", comment) for key, value, comment in lines]
    width = max(len(line) for line, _ in written)
    return [title, *(f"{line:{width}}  # {comment}" if comment else line for line, comment in written)]


def _from(folder: Path, file: str) -> str:
    """A file's path relative to the scenario's folder."""
    return file if os.path.isabs(file) else os.path.relpath(file, folder)


def _toml(value: Any) -> str:
    """A value in TOML.

    >>> print(_toml({"kind": "red", "limit": "50 kB", "ecn": True}))
    { kind = "red", limit = "50 kB", ecn = true }
    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    # JSON strings are valid TOML strings except for DEL, which TOML requires to be escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

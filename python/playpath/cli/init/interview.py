"""The questions of `playpath init`: each is answered by its flag, at a terminal, or by its default, and checked at once."""

import signal
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from playpath.base.errors import InputError, RunError
from playpath.cli.init import link
from playpath.cli.init.answers import (
    CLIP,
    DEFAULTS,
    FIGURES,
    FILES,
    MANIFESTS,
    ONE_RATE,
    WHOLE,
    Answers,
    adapts,
    is_file,
    is_manifest,
    models,
    shipped_trace,
    text,
    usual_video,
)
from playpath.scenario import load
from playpath.show import console

_QUESTIONS = {
    "video": 'Video: its rate ("5 Mbit/s"), rates to switch between ("1 Mbit/s, 3 Mbit/s"), a file (.mp4) or a manifest (.mpd, .m3u8)',
    "duration": "How long it plays",
    "ladder": 'Rates to switch between ("1 Mbit/s, 3 Mbit/s"), or: one',
    "buffer": "Buffer of the player",
    "path": "Path: figures, trace, like mobile, like satellite (or another shipped scenario), measure",
    "rate": "Its rate",
    "rtt": "Its round-trip time without queues",
    "loss": "Its random loss: a share, or bursts(every=10 s, duration=20 ms)",
    "queue": "The queue in front of it",
    "trace": "File of the trace",
    "measure": "Address of a large file on your server",
    "cc": "Senders",
}
_PATHS = ("trace", "like", "measure")


class Interview:
    """One pass through the questions.

    Args:
        folder: Where the scenario will be.
        flags: The flags that were given: flag → value.
        asks: Whether to ask at the terminal.
    """

    def __init__(self, folder: Path, flags: Mapping[str, str], *, asks: bool) -> None:
        self._folder, self._flags, self._asks = folder, flags, asks
        self._known: dict[str, str] = {}

    def answers(self) -> Answers:
        """All answers; together they make a valid scenario."""
        self._ask_video()
        self._ask_path()
        self._ask("cc")
        self._take("seeds", self._flags.get("seeds", DEFAULTS["seeds"]))
        for name in self._flags.keys() - self._known.keys():
            drop = "drop one of the two" if name == "ladder" else f"drop --{name}"
            raise InputError(f"--{name} '{self._flags[name]}': does not go with {self._reason(name)}; {drop}")
        return self._known

    def _reason(self, name: str) -> str:
        if name in (*FIGURES, *_PATHS):
            return next(f"--{kind} {self._known[kind]}" for kind in (*_PATHS, "rate") if kind in self._known)
        if is_manifest(self._known["video"]) or name == "ladder":
            return f"--video '{self._known['video']}'"
        return "rates to switch between"

    def _ask_video(self) -> None:
        if "ladder" in self._flags and "video" not in self._flags:
            self._take("video", CLIP)
        else:
            self._ask("video", usual_video(self._flags))
        video = self._known["video"]
        if is_manifest(video):
            return
        self._ask("duration", WHOLE if is_file(video) else DEFAULTS["duration"])
        if is_file(video) or video == CLIP:
            self._ask("ladder", ONE_RATE)
        if not adapts(self._known):
            self._ask("buffer")

    def _ask_path(self) -> None:
        kinds = [kind for kind in _PATHS if kind in self._flags]
        if len(kinds) > 1:
            raise InputError(f"--{kinds[0]} and --{kinds[1]}: give one of them")
        if kinds:
            kind = kinds[0]
        elif any(name in self._flags for name in FIGURES):
            kind = "figures"
        else:
            kind = self._ask_kind()
        if kind == "like":
            if "like" not in self._known:
                self._take("like", self._flags["like"])
            return
        if kind == "measure":
            self._measure()
        if kind == "trace":
            self._ask("trace", "")
        for name in FIGURES:
            if name != "rate" or kind != "trace":
                self._ask(name, self._known.get(name) or DEFAULTS[name])

    def _ask_kind(self) -> str:
        if not self._asks:
            return "figures"
        while True:
            kind, _, rest = self._read("path", DEFAULTS["path"]).partition(" ")
            try:
                if kind == "like" or kind in models():
                    self._take("like", rest.strip() if kind == "like" else kind)
                    return "like"
            except InputError as error:
                console.message(f"  {error}")
                continue
            if kind in ("figures", "trace", "measure"):
                return kind
            console.message(f"  '{kind}': figures, trace, like NAME, or measure; names: {', '.join(models())}")

    def _measure(self) -> None:
        """Measure rate and round-trip time of the user's own link, with consent: the flag, or a yes at the prompt."""
        url = self._flags.get("measure")
        while True:
            try:
                address = url or self._read("measure", "")
                host = link.check_url(address).hostname
                what = f"{link.CONNECTIONS} connections to {host}, then {link.SECONDS:.0f} s of download"
                if url is None and input_(f"{what} ({link.MAX_BYTES // 10**6} MB at most): now? [y/N]: ") not in (
                    "y",
                    "yes",
                ):
                    return
                found = link.measure(address)
            except (InputError, RunError) as error:
                if url is not None:
                    raise
                console.message(f"  {error}")
                continue
            self._known["measure"] = address
            self._known["rate"], self._known["rtt"] = f"{_short(found.rate_mbps)} Mbit/s", f"{_short(found.rtt_ms)} ms"
            self._known["note"] = (
                f"rate and rtt measured on {date.today()} from here to {host}: {found.bytes / 1e6:.3g} MB in {found.seconds:.2g} s, "
                f"rtt the smallest of {link.CONNECTIONS} connections; loss and queue were not measured"
            )
            return

    def _ask(self, name: str, default: str | None = None) -> None:
        """Take the flag's value, the user's, or the default, once the engine accepts it."""
        default = DEFAULTS[name] if default is None else default
        if name in self._flags or not self._asks:
            self._take(name, self._flags.get(name, default))
            return
        while True:
            try:
                self._take(name, self._read(name, default))
                return
            except InputError as error:
                console.message(f"  {error}")

    def _take(self, name: str, value: str) -> None:
        """Accept an answer if the scenario so far is valid with it."""
        tried = {**self._known, name: value}
        try:
            load(text(tried, "scenario", self._folder, trace_path=shipped_trace(tried)), folder=self._folder)
        except InputError as error:
            if name == "video" and _looks_like_a_file(value):
                allowed = ", ".join((*FILES, *MANIFESTS))
                raise InputError(
                    f"--video '{value}': a film's file ends in {allowed}; a rate is a number with a unit, such as \"5 Mbit/s\""
                ) from None
            line, _, rest = str(error).partition(": ")  # the line number refers to a file that does not exist yet
            raise InputError(f"--{name} '{value}': {rest if line.startswith('line ') else error}") from None
        self._known[name] = value

    def _read(self, name: str, default: str) -> str:
        return input_(f"{_QUESTIONS[name]}{f' [{default}]' if default else ''}: ") or default


def _looks_like_a_file(video: str) -> bool:
    """Whether the text looks like the name of a file, but of a kind that cannot be read."""
    return Path(video).suffix[1:].isalnum() and not video[0].isdigit() and not (is_file(video) or is_manifest(video))


def _short(value: float) -> str:
    """Three significant digits, without an exponent.

    >>> _short(8123.4), _short(0.0312)
    ('8120', '0.0312')
    """
    return f"{float(f'{max(value, 0.001):.3g}'):g}"


def input_(prompt: str) -> str:
    """A line from the terminal; the prompt goes to stderr."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    signal.siginterrupt(signal.SIGINT, True)  # polars makes reads resume after Ctrl-C
    line = sys.stdin.readline()
    if not line:
        raise InputError("the answers ended before the last question; nothing is written")
    return line.strip()

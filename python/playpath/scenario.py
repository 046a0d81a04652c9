"""Scenarios: read from a file, a TOML text or a dict; overridden; resolved by the engine."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from playpath import engine, shipped
from playpath.document import Document
from playpath.errors import InputError
from playpath.files import read_text

if TYPE_CHECKING:
    from playpath.resolved import Document as ResolvedDocument
    from playpath.resolved import Sender

LAST_SEED = 2**63 - 1
"""What the columns of tables hold."""
_SENDER = re.compile(r"""(^|[{,])[\s\["']*sender["']?\s*[]=:.]""", re.MULTILINE)
_UNNAMED = "scenario"
"""What the engine calls a scenario that gives no name."""

Component = dict[str, Any]
"""A control, rule or scheduler of a resolved scenario: its `name` and its parameters."""


@dataclass(frozen=True)
class Scenario:
    """A resolved scenario: every default is written out.

    Attributes
    ----------
    resolved : dict
        What the engine runs. Do not change it; load it again with overrides.
    text : str
        The same as JSON, as it is handed to the engine.
    names_sender : bool
        Whether senders were named, in the text or by an option; otherwise the engine's default plays.
    """

    resolved: ResolvedDocument
    text: str
    names_sender: bool = True

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {', '.join(self.senders) or 'no senders'}; {len(self.seeds)} seeds>"

    @classmethod
    def from_toml(cls, text: str, *, folder: str | Path | None = None) -> Scenario:
        """Of a TOML text; files that it names start from `folder`, by default the working directory.

        Raises
        ------
        InputError
            The scenario is wrong; one line.
        """
        return load(f"{text}\n", folder=folder)

    @classmethod
    def build(cls, document: Document | None = None, /, **parts: Unpack[Document]) -> Scenario:
        """Of its parts: `Scenario.build(video=Video(…), path=[Path(…)], sender=[Sender(cc="cubic")])`, or a mapping of them.

        Raises
        ------
        InputError
            The scenario is wrong; one line.
        """
        return load({**(document or {}), **parts})

    @property
    def name(self) -> str:
        """The scenario's name; the file's stem if it gives none."""
        return str(self.resolved["name"])

    @property
    def description(self) -> str:
        """One sentence, possibly empty."""
        return str(self.resolved.get("description") or "")

    @property
    def senders(self) -> list[str]:
        """Unique labels of the senders, in the order declared."""
        return [str(sender["name"]) for sender in self.resolved.get("sender") or []]

    def sender(self, name: str) -> Sender:
        """The resolved entry of a sender."""
        return next(s for s in self.resolved["sender"] if s["name"] == name)

    @property
    def seeds(self) -> list[int]:
        """The seeds asked for, one a replication."""
        run = self.resolved["run"]
        first = int(run.get("first_seed", 1))
        return list(range(first, first + int(run["seeds"])))

    @property
    def has_video(self) -> bool:
        """Whether a viewer watches; otherwise the senders are judged by goodput."""
        return bool(self.resolved.get("video"))

    @property
    def digest(self) -> str:
        """SHA-256 of the resolved scenario, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()


class Choices(TypedDict, total=False):
    """Who plays instead of the file's senders: options of `load`."""

    cc: Sequence[str | Mapping[str, Any]] | None
    scheduler: Sequence[str | Mapping[str, Any]] | None
    abr: Sequence[str | None] | None
    controllers: Mapping[str, Any] | None
    abrs: Mapping[str, Any] | None


def load(
    source: Any,
    *,
    cc: Sequence[str | Mapping[str, Any]] | None = None,
    scheduler: Sequence[str | Mapping[str, Any]] | None = None,
    seeds: int | None = None,
    set: Mapping[str, Any] | None = None,
    abr: Sequence[str | None] | None = None,
    controllers: Mapping[str, Any] | None = None,
    abrs: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
) -> Scenario:
    """Load, override and validate a scenario.

    Parameters
    ----------
    source : Scenario, mapping, str or path
        A mapping is the scenario itself, built in Python. A string with a line break is TOML text. Any other string or
        path names a file (TOML, or JSON); where there is none, a bare name is that of a shipped scenario: `"wireless"`.
    cc, scheduler : sequence, optional
        Compare these instead of the senders of the file. An element is a name, `"ccplb(pob_rate=2)"`, or a mapping with
        `name` and parameters. A single string is a list with commas: `cc="cubic, bbr"`.
    seeds : int, optional
        Number of replications.
    set : mapping, optional
        Dotted key → value, for example `{"player.buffer": "2 s"}`.
    abr : sequence, optional
        Play every sender with each of these ABR rules: `"bola"`, `"module:Rule"`; None is the scenario's own. Needs a player
        that adapts.
    controllers, abrs : mapping, optional
        Code of your own, label → class (or a function or `functools.partial` that makes objects, or a name): congestion
        controls that play beside the senders, rules that are added to `abr`. See docs/recipes/prototype-in-python.md.
    folder : path, optional
        Where relative file names start from: by default the file's own folder, the working directory for text and mappings.

    Raises
    ------
    InputError
        The file cannot be read or the scenario is wrong; one line.
    """
    senders = _sender_overrides(cc, scheduler, abr, controllers or {}, abrs or {})
    overrides = {**senders, **({} if seeds is None else {"seeds": seeds}), **({"set": dict(set)} if set else {})}
    if isinstance(source, Scenario) and not overrides:
        return source
    text, base, stem = _read(source)
    try:
        resolved = engine.resolve(text, base if folder is None else str(folder), overrides)
    except InputError as error:
        called = "" if isinstance(source, Scenario | Mapping) or "\n" in str(source) else str(source)
        # With a folder it is the text of a population at one of its paths.
        if folder is None and (other := shipped.mistaken(shipped.document(text), Path(base), called, "scenario")):
            raise other from None
        # A line is of the file; what is wrong in an option has none.
        if str(error).startswith("line ") and called:
            raise InputError(f"{source}: {error}") from None
        raise
    if own_code(resolved):
        from playpath.own import complete  # imported where there is any

        complete(resolved, base if folder is None else str(folder))
    if resolved["name"] == _UNNAMED:
        resolved["name"] = stem
    last = int(resolved["run"].get("first_seed", 1)) + int(resolved["run"]["seeds"]) - 1
    if last > LAST_SEED:
        raise InputError(f"[run]: the last seed is {last}; allowed: up to {LAST_SEED}")
    names_sender = cc is not None or bool(controllers) or _SENDER.search(text) is not None
    return Scenario(resolved, json.dumps(resolved, ensure_ascii=False), names_sender)


def read(source: Any) -> Mapping[str, Any]:
    """A scenario's document as written, without defaults; `source` as `load` takes it."""
    return shipped.document(_read(source)[0])


def _read(source: Any) -> tuple[str, str, str]:
    """Text, base folder and fallback name."""
    if isinstance(source, Scenario):
        return source.text, ".", source.name
    if isinstance(source, Mapping):
        return json.dumps(source), ".", "scenario"
    if isinstance(source, str) and "\n" in source:
        return source, ".", "scenario"
    path = shipped.find(source)
    return read_text(path, remedy="give the path of a scenario file (TOML or JSON)"), str(path.parent), path.stem


def own_code(resolved: ResolvedDocument) -> list[str]:
    """The congestion controls and ABR rules of a resolved scenario that are code of the user's own: `module:Name`."""
    tables = [*(resolved.get("sender") or []), *(resolved.get("traffic") or []), resolved.get("player") or {}]
    entries = [table.get(key) for table in tables for key in ("cc", "abr")]
    return [e["name"] for e in entries if isinstance(e, dict) and ":" in str(e.get("name"))]


def _sender_overrides(
    cc: Any, scheduler: Any, abr: Any, controllers: Mapping[str, Any], abrs: Mapping[str, Any]
) -> dict[str, Sequence[object]]:
    """Who plays, as the engine reads it."""
    found: dict[str, Sequence[object]] = {
        k: _choices(v, k) for k, v in (("cc", cc), ("scheduler", scheduler)) if v is not None
    }
    if controllers:
        found["controllers"] = [{"name": n, "cc": _reference(n, target)} for n, target in controllers.items()]
    if abr is not None or abrs:
        found["abr"] = [*_rules(abr), *({"name": n, "abr": _reference(n, target)} for n, target in abrs.items())]
    return found


def _reference(name: str, target: Any) -> str:
    from playpath.own import reference_of

    return reference_of(name, target)


def _rules(abr: Any) -> list[str | None]:
    if abr is None:
        return [None]
    if isinstance(abr, str):
        abr = split_outside(abr)
    return [None if rule is None else parse_choice(rule) for rule in abr]


def _choices(given: Any, key: str) -> list[str]:
    if isinstance(given, str):
        given = split_outside(given)
    if isinstance(given, Mapping) or not isinstance(given, Sequence):
        raise InputError(f"`{key}` = {given}: must be a list of names, as in `playpath list {key}`")
    return [parse_choice(choice) for choice in given]


def parse_choice(choice: str | Mapping[str, Any]) -> str:
    """A name with parameters as the engine reads it: `ccplb:pob_rate=2,mode=free`.

    >>> parse_choice("ccplb(pob_rate=0.5)")
    'ccplb:pob_rate=0.5'
    >>> parse_choice({"name": "ccplb", "pob_rate": 2})
    'ccplb:pob_rate=2'
    """
    if isinstance(choice, Mapping):
        given = {key: _typed(value) for key, value in choice.items() if key != "name"}
        name = str(choice.get("name", ""))
        return name + (":" + ",".join(f"{key}={value}" for key, value in given.items()) if given else "")
    if not isinstance(choice, str):
        raise InputError(f"{choice}: write a name, or NAME(PARAMETER=VALUE,…); see `playpath list`")
    text = choice.strip()
    name, bracket, inside = text.partition("(")
    if not bracket and ")" not in text:
        return text
    if not name.strip() or not inside.endswith(")") or set("()") & set(inside[:-1]):
        raise InputError(f"'{text}': write a name, or NAME(PARAMETER=VALUE,…); see `playpath list`")
    return f"{name.strip()}:{inside[:-1]}"


def _typed(value: Any) -> str:
    """A parameter's value as typed."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_value(text: str) -> Any:
    """A TOML-like value: number, true/false, otherwise the text itself (quotes optional)."""
    stripped = text.strip()
    try:
        return json.loads(stripped, parse_constant=_no_constant)
    except ValueError:
        return stripped.strip("'\"")
    except RecursionError:
        raise InputError(f"--set: '{stripped[:20]}…' is nested too deeply") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def split_outside(text: str) -> list[str]:
    """Split at commas that are not inside brackets.

    >>> split_outside("cubic, ccplb(a=1,b=2)")
    ['cubic', 'ccplb(a=1,b=2)']
    """
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]

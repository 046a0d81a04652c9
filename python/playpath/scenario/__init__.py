"""Scenarios: read from a file, a TOML text or a mapping; overridden by options; resolved by the engine."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from playpath.base import engine
from playpath.base.errors import InputError, unknown_name
from playpath.base.files import read_text
from playpath.scenario import shipped
from playpath.scenario.resolved import Document as ResolvedDocument
from playpath.scenario.resolved import Sender

if TYPE_CHECKING:
    from playpath.scenario.choices import Choice
    from playpath.scenario.document import Document


LAST_SEED = 2**63 - 1
"""The largest value of the tables' seed columns."""
_SENDER = re.compile(r"""(^|[{,])[\s\["']*sender["']?\s*[]=:.]""", re.MULTILINE)
_UNNAMED = "scenario"
"""The engine's name for a scenario without one."""

Component = dict[str, Any]
"""A control, rule or scheduler in a resolved scenario: its `name` and its parameters."""


@dataclass(frozen=True)
class Origin:
    """The source of a scenario."""

    text: str
    overrides: Mapping[str, Any]
    """The options of `load`, in the engine's form."""
    code: Mapping[str, str] = field(default_factory=dict)
    """The user's own code: its name in the text → the name by which every process finds it."""


class Written(TypedDict):
    """A scenario as it was written, with the contents of all files that it names (`document`), and the options of `load` (`overrides`).

    Settings are applied to this form, because the resolved form already contains the defaults that depend on them.
    """

    document: Mapping[str, Any]
    overrides: Mapping[str, Any]


_LOGS = {".csv", ".tsv", ".parquet", ".jsonl", ".har", ".log"}
"""File endings of logs and tables from players or servers."""
_CHANCES = ("loss", "corruption", "reordering", "errors", "misses", "hangs")
"""Settings whose shares are probabilities."""


@dataclass(frozen=True)
class Scenario:
    """A resolved scenario: every default is written out."""

    resolved: ResolvedDocument
    """The engine's input. Do not change it; load the scenario again with overrides."""
    text: str
    """The same as JSON, as passed to the engine."""
    names_sender: bool = True
    """Whether senders were named, in the text or by an option; otherwise the engine's default plays."""
    origin: Origin | None = field(default=None, repr=False, compare=False)
    """Its source; without one (in results of earlier versions) the resolved form is used instead."""
    variants: Mapping[str, Scenario] = field(default_factory=dict, repr=False, compare=False)
    choices: Mapping[str, Choice] = field(default_factory=dict, repr=False, compare=False)
    """If choices other than senders are compared (`vary`): `variants`, name → the scenario that it plays; `choices`, name → what it
    stands for."""

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {', '.join(self.senders) or 'no senders'}; {len(self.seeds)} seeds>"

    @classmethod
    def from_toml(cls, text: str, *, folder: str | Path | None = None) -> Scenario:
        """Load a TOML text; file names in it are relative to `folder`, by default the working directory.

        Raises:
            InputError: The scenario is wrong; the message is one line.
        """
        return load(f"{text}\n", folder=folder)

    @classmethod
    def build(cls, document: Document | None = None, /, **parts: Unpack[Document]) -> Scenario:
        """Build from parts: `Scenario.build(video=Video(…), path=[Path(…)], sender=[Sender(cc="cubic")])`, or from a mapping of them.

        Raises:
            InputError: The scenario is wrong; the message is one line.
        """
        return load({**(document or {}), **parts})

    @classmethod
    def stored(cls, resolved: ResolvedDocument, written: Written | None) -> Scenario:
        """Restore from a result's manifest; `written` is None for results of versions that did not keep it."""
        origin = None if written is None else Origin(json.dumps(written["document"]), written["overrides"])
        return cls(resolved, json.dumps(resolved, ensure_ascii=False), origin=origin)

    @cached_property
    def written(self) -> Written:
        """The scenario without its defaults, but with everything that is needed to load it elsewhere."""
        if self.origin is None:
            return {"document": self.resolved, "overrides": {}}
        overrides: dict[str, Any] = json.loads(json.dumps(self.origin.overrides, default=str))
        settings = {key: _whole(value, at(self.resolved, key)) for key, value in overrides.get("set", {}).items()}
        given = {**overrides, **({"set": settings} if settings else {})}
        document = _whole(shipped.document(self.origin.text), self.resolved)
        return {"document": _found(document, self.origin.code), "overrides": _found(given, self.origin.code)}

    @property
    def names_seeds(self) -> bool:
        """Whether the number of seeds was given: in the scenario, by an option or by a setting."""
        typed = self.written
        given = typed["overrides"]
        return "seeds" in {**typed["document"].get("run", {}), **given} or "run.seeds" in given.get("set", {})

    @cached_property
    def _written_text(self) -> str:
        return json.dumps(self.written["document"], ensure_ascii=False)

    @property
    def name(self) -> str:
        return str(self.resolved["name"])

    @property
    def description(self) -> str:
        """The description: one sentence, possibly empty."""
        return str(self.resolved.get("description") or "")

    @property
    def senders(self) -> list[str]:
        return [str(sender["name"]) for sender in self.resolved.get("sender") or []]

    def sender(self, name: str) -> Sender:
        return next(s for s in self.resolved["sender"] if s["name"] == name)

    def playing(self, name: str) -> Scenario:
        """The scenario that the sender `name` plays: this one, or a variant if choices other than senders are compared."""
        return self.variants.get(name, self)

    @property
    def asks_for_whom(self) -> bool:
        """Whether each of several senders has choices to compare, so that the question is the effect of the choices on each of them.
        Senders that differ with each value, as with the transport, do not count.
        """
        return 1 < len({choice.sender for choice in self.choices.values()}) < len(self.choices)

    @property
    def seeds(self) -> list[int]:
        """The requested seeds, one for each replication."""
        run = self.resolved["run"]
        first = int(run.get("first_seed", 1))
        return list(range(first, first + int(run["seeds"])))

    @property
    def prefer(self) -> str:
        """What comes first in the verdict: `[verdict] prefer`."""
        return str((self.resolved.get("verdict") or {}).get("prefer", "range"))

    def has_chance(self, point: Mapping[str, Any] | None = None) -> bool:
        """Whether a packet, or an answer of the origin, may be lost or late by chance, at a point that changes settings: then seeds that
        are all alike show no more than that it is rare.
        """
        given = point or {}
        if any(_is_chance(value, part) for key, value in given.items() for part in key.split(".")):
            return True

        def is_left(part: str, table: Any) -> bool:
            kept = {key: own for key, own in (table or {}).items() if f"{part}.{key}" not in given}
            return _is_chance(kept)

        played = [self, *self.variants.values()]
        tables = [(part, one.resolved.get(part)) for one in played for part in ("path", "link", "origin")]
        return any(
            is_left(part, own) for part, found in tables for own in (found if isinstance(found, list) else [found])
        )

    @property
    def has_video(self) -> bool:
        """Whether there is a video; otherwise the senders are judged by goodput."""
        return bool(self.resolved.get("video"))

    @property
    def digest(self) -> str:
        """SHA-256 of the resolved scenario, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()


class Choices(TypedDict, total=False):
    """Options of `load` that replace the file's senders, or compare other choices as well."""

    cc: Sequence[str | Mapping[str, Any]] | None
    scheduler: Sequence[str | Mapping[str, Any]] | None
    abr: Sequence[str | None] | None
    controllers: Mapping[str, Any] | None
    abrs: Mapping[str, Any] | None
    vary: Mapping[str, Any] | None


def check_choices(given: Mapping[str, object], function: Callable[..., object]) -> None:
    """Refuse keyword arguments of a function that are neither its own nor among `Choices`."""
    for name in given:
        if name == "most":
            raise InputError("most: is an option of the command line; in Python, until_decided=N limits a race to N")
        if name not in Choices.__annotations__:
            own = inspect.signature(function).parameters.values()
            named = [one.name for one in own if one.kind is one.KEYWORD_ONLY]
            raise unknown_name("argument", name, [*named, *Choices.__annotations__])


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
    vary: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
) -> Scenario:
    """Load, override and validate a scenario.

    Args:
        source: A mapping is the scenario itself, built in Python. A string with a line break is TOML text. Any other
            string or path names a file (TOML or JSON); if there is no such file, a bare name is that of a shipped
            scenario: `"wireless"`.
        cc, scheduler: Compare these instead of the file's senders. An element is a name, `"ccplb(pob_rate=2)"`, or a
            mapping with `name` and parameters. A single string is a comma-separated list: `cc="cubic, bbr"`.
        seeds: Number of replications.
        set: Dotted key → value, for example `{"player.buffer": "2 s"}`.
        abr: Play every sender with each of these ABR rules: `"bola"`, `"module:Rule"`; None is the scenario's own.
            Needs an adaptive player.
        controllers, abrs: Your own code, label → class (or a function or `functools.partial` that makes objects, or a
            name): congestion controls that are compared with the senders, rules that are added to `abr`. See
            docs/recipes/prototype-in-python.md.
        vary: Dotted key → values to compare, in every combination and for every sender: `{"path.queue": ["droptail",
            "fq_codel"]}`. A string is a comma-separated list. The combinations then are the scenario's senders, with
            their own names. It replaces a `[[choice]]` of the same key; those of other keys remain.
        folder: Folder that relative file names start from: by default the file's own folder, or the working directory
            for text and mappings.

    Raises:
        InputError: The file cannot be read or the scenario is wrong; the message is one line.
    """
    senders = _sender_overrides(cc, scheduler, abr, controllers or {}, abrs or {})
    overrides = {**senders, **({} if seeds is None else {"seeds": seeds}), **_by_setting(set=set, vary=vary)}
    if isinstance(source, Scenario):
        if not overrides:
            return source
        overrides = _merged(source.written["overrides"], overrides)
    choices = cast("Mapping[str, Any] | None", overrides.pop("vary", None))
    text, base, stem = _read(source)
    try:
        resolved = engine.resolve(text, base if folder is None else str(folder), overrides)
    except InputError as error:
        called = "" if isinstance(source, Scenario | Mapping) or "\n" in str(source) else str(source)
        # With a folder given, or already read, it is a population at one of its paths.
        known = isinstance(source, Scenario) or folder is not None
        if not known and (other := shipped.mistaken(shipped.document(text), Path(base), called, "scenario")):
            raise other from None
        # Errors about a line or about something missing refer to the file; those about options do not.
        if str(error).startswith(("line ", "the scenario ")) and called:
            raise InputError(f"{source}: {error}") from None
        raise
    code = own_code(resolved)
    if code:
        from playpath.run.own import complete  # imported only if needed

        complete(resolved, base if folder is None else str(folder))
        if isinstance(source, Scenario):
            _check_code(source.resolved, resolved)
    written: Any = resolved.pop("choice", None)  # [[choice]] is treated as an option of this load from here on
    if written:
        text = json.dumps({**shipped.document(text), "choice": []}, default=str)
    compared = {e["key"]: e["values"] for e in written or [] if e["key"] not in (choices or {})}
    choices = {**compared, **(choices or {})}
    origin = Origin(text, overrides, dict(zip(code, own_code(resolved), strict=True)))
    if resolved["name"] == _UNNAMED:
        resolved["name"] = stem
    last = int(resolved["run"].get("first_seed", 1)) + int(resolved["run"]["seeds"]) - 1
    if last > LAST_SEED:
        raise InputError(f"[run]: the last seed is {last}; allowed: up to {LAST_SEED}")
    names_sender = bool({"cc", "controllers"} & overrides.keys()) or _SENDER.search(text) is not None
    plain = Scenario(resolved, json.dumps(resolved, ensure_ascii=False), names_sender, origin)
    if not choices:
        return plain
    from playpath.scenario.choices import varied  # imported only if needed

    try:
        found = varied(plain, choices, base if folder is None else str(folder))
    except InputError as error:
        raise InputError(_as_written(str(error), compared)) from None
    return replace(found, origin=replace(origin, overrides={**overrides, "vary": choices}))


def _by_setting(**options: Any) -> dict[str, dict[str, Any]]:
    """The given ones of `set` and `vary`, checked to be mappings."""
    for option, given in options.items():
        if given and not (isinstance(given, Mapping) and all(isinstance(key, str) and key.strip() for key in given)):
            raise InputError(f'{option}: {given!r} is not a mapping of settings, such as {{"path.queue": …}}')
    return {option: dict(given) for option, given in options.items() if given}


def _as_written(message: str, keys: Collection[str]) -> str:
    """Make an error about a choice refer to `[[choice]]` if the choice is from there."""
    found = re.match(r'vary\["(.+?)"\]', message)
    return f"[[choice]] {found[1]}{message[found.end() :]}" if found and found[1] in keys else message


def _merged(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the options of two loads: settings add up, but new senders replace all earlier ones."""
    kept = {key: value for key, value in earlier.items() if "cc" not in later or key in ("seeds", "set", "vary")}
    found = {**kept, **later}
    if "controllers" in kept and "controllers" in later:
        found["controllers"] = [*kept["controllers"], *later["controllers"]]
    if "set" in kept and "set" in later:
        found["set"] = {**kept["set"], **later["set"]}
    return found


def _whole(written: Any, resolved: Any) -> Any:
    """A document in which file names are replaced by their contents from the resolved scenario."""
    if isinstance(written, Mapping):
        of = resolved if isinstance(resolved, Mapping) else {}
        # A `source` with the name of a manifest is resolved as a `manifest`.
        moved = {"source": "manifest"} if "source" in written and "source" not in of and "manifest" in of else {}
        return {moved.get(key, key): _whole(value, of.get(moved.get(key, key))) for key, value in written.items()}
    if isinstance(written, list):
        known = resolved if isinstance(resolved, list) else []
        return [_whole(value, other) for value, other in itertools.zip_longest(written, known[: len(written)])]
    return resolved if isinstance(written, str) and isinstance(resolved, Mapping) and "content" in resolved else written


def _found(written: Any, code: Mapping[str, str]) -> Any:
    """The document with the names by which own code was found."""
    if isinstance(written, Mapping):
        return {key: _found(value, code) for key, value in written.items()}
    if isinstance(written, list):
        return [_found(value, code) for value in written]
    if not isinstance(written, str):
        return written
    named = (name for name in code if written == name or written.startswith((f"{name}:", f"{name}(")))
    return next((code[name] + written[len(name) :] for name in named), written)


def at(resolved: Any, key: str) -> Any:
    """The value of a dotted setting; None if there is none; for a list without a number or name, that of its first entry."""
    for part in key.split("."):
        if isinstance(resolved, list):
            named = next((entry for entry in resolved if entry.get("name") == part), None)
            if part.isdigit() or named is not None:
                resolved = named if named is not None else resolved[int(part)]
                continue
            resolved = resolved[0] if resolved else None
        resolved = resolved.get(part) if isinstance(resolved, Mapping) else None
    return resolved


def place(key: str) -> str:
    """A dotted setting without the number of a first entry, which may be left out.

    >>> place("path.0.rate"), place("path.1.rate")
    ('path.rate', 'path.1.rate')
    """
    return key.replace(".0.", ".")


def read(source: Any) -> Mapping[str, Any]:
    """A scenario's document as written, without defaults; `source` as `load` takes it."""
    return shipped.document(_read(source)[0])


def _read(source: Any) -> tuple[str, str, str]:
    """The source's text, the folder of its file names, and a fallback name."""
    if isinstance(source, Scenario):
        return source._written_text, ".", source.name
    if isinstance(source, Mapping):
        return json.dumps(source), ".", "scenario"
    if isinstance(source, str) and "\n" in source:
        return source, ".", "scenario"
    path = shipped.find(source)
    if path.suffix.lower() in _LOGS:
        raise InputError(
            f"{path}: is a log or a table, not a scenario; `playpath population answer {path} --sender NAME --try LIST --out DIR` "
            "answers from a log, `playpath population import` makes a users' table of its rates"
        )
    return read_text(path, remedy="give the path of a scenario file (TOML or JSON)"), str(path.parent), path.stem


def own_code(resolved: ResolvedDocument) -> list[str]:
    """The congestion controls and ABR rules of a resolved scenario that are the user's own code: `module:Name`."""
    return [entry["name"] for _, _, entry in own_entries(resolved)]


def own_entries(resolved: ResolvedDocument) -> Iterator[tuple[str, str, Component]]:
    """The entries that name own code, with what each is of and what it is: a control or a rule."""
    senders = [(f"sender '{entry.get('name', '')}'", entry) for entry in resolved.get("sender") or []]
    traffic = [(f"traffic '{entry.get('name', '')}'", entry) for entry in resolved.get("traffic") or []]
    for where, table in [*senders, *traffic, ("player", resolved.get("player") or {})]:
        for key, kind in (("cc", "control"), ("abr", "rule")):
            entry: Any = table.get(key)
            if isinstance(entry, dict) and ":" in str(entry.get("name")):
                yield f"{where}: {key}", kind, entry


def _check_code(earlier: ResolvedDocument, now: ResolvedDocument) -> None:
    """Refuse code that has the same name but differs."""
    known = {entry["name"]: entry["source_sha256"] for _, _, entry in own_entries(earlier)}
    for _, _, entry in own_entries(now):
        if known.get(entry["name"], entry["source_sha256"]) != entry["source_sha256"]:
            raise InputError(f"'{entry['name']}': the source has changed since this result")


def _sender_overrides(
    cc: Any, scheduler: Any, abr: Any, controllers: Mapping[str, Any], abrs: Mapping[str, Any]
) -> dict[str, Sequence[object]]:
    """The senders in the engine's form."""
    found: dict[str, Sequence[object]] = {
        k: _choices(v, k) for k, v in (("cc", cc), ("scheduler", scheduler)) if v is not None
    }
    if controllers:
        found["controllers"] = [{"name": n, "cc": _reference(n, target)} for n, target in controllers.items()]
    if abr is not None or abrs:
        found["abr"] = [*_rules(abr), *({"name": n, "abr": _reference(n, target)} for n, target in abrs.items())]
    return found


def _reference(name: str, target: Any) -> str:
    from playpath.run.own import reference_of

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
    if not given and key == "cc":  # otherwise the engine would replace the file's senders by its default
        raise InputError("cc: is empty; give a list of names, as in `playpath list cc`, or leave it out")
    return [parse_choice(choice) for choice in given]


def parse_choice(choice: str | Mapping[str, Any]) -> str:
    """A name with parameters in the engine's form: `ccplb:pob_rate=2,mode=free`.

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
    """A parameter's value in typed form."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_value(text: str) -> Any:
    """Parse a TOML-like value: number, true/false, an inline table, otherwise the text itself (quotes optional)."""
    stripped = text.strip()
    try:
        return json.loads(stripped, parse_constant=_no_constant)
    except ValueError:
        return _inline_table(stripped) or stripped.strip("'\"")
    except RecursionError:
        raise InputError(f"set: '{stripped[:20]}…' is nested too deeply") from None


def _inline_table(text: str) -> dict[str, Any] | None:
    """Parse an inline table or list such as `{kind = "pie"}`."""
    if not text.startswith("{"):
        return None
    try:
        table: dict[str, Any] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return None
    return table


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")


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


def _is_chance(value: Any, key: str = "") -> bool:
    """Whether there is a share above zero under one of `_CHANCES`."""
    if isinstance(value, Mapping):
        return any(_is_chance(own, key if key in _CHANCES else name) for name, own in value.items())
    if isinstance(value, list | tuple):
        return any(_is_chance(own, key) for own in value)
    is_share = key in _CHANCES and isinstance(value, str) and value.endswith("%")
    return is_share and value.removesuffix("%").strip().strip("0.") != ""

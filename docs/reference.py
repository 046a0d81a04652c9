"""Write the reference pages that follow from registries: `make reference`. A test says when they are out of date."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playpath import engine

FOLDER = Path(__file__).parent / "reference"
KINDS = {
    "cc": ("Congestion controls", 'cc = "cubic"', 'cc = {{ name = "{name}", {param} = {value} }}'),
    "scheduler": (
        "Schedulers over several paths",
        'scheduler = "dft"',
        'scheduler = {{ name = "{name}", {param} = {value} }}',
    ),
    "validation": ("Window validation", 'validation = "newcwv"', ""),
    "pacing": ("Pacing", "pacing = { gain = 1.0 }", ""),
    "profile": ("Profiles of a host", 'profile = "linux"', ""),
    "queue": ("Queues", 'queue = "codel"', 'queue = {{ kind = "{name}", {param} = {value} }}'),
    "loss": ("Loss models", 'loss = "0.5 %"', 'loss = {{ kind = "{name}", {param} = {value} }}'),
    "player": ("Players", '[player] kind = "dash"', "[player] {param} = {value}"),
    "abr": ("Adaptation rules", 'abr = "throughput"', 'abr = "{name} {param}={value}"'),
    "traffic": ("Cross traffic", '[[traffic]] kind = "web"', ""),
    "trace": ("Trace generators", "playpath convert --generate lte_like --to mahimahi", ""),
}
"""Kind → heading, how one is chosen, how a parameter is set."""


def pages() -> dict[Path, str]:
    """Every page, and what it has to say."""
    schema, metrics = engine.record_reference()
    return {
        FOLDER / "record.schema.json": schema,
        FOLDER / "metrics.md": metrics,
        FOLDER / "components.md": components(),
    }


def components() -> str:
    """Everything that is chosen by name, with its parameters."""
    parts = [
        "# Components and their parameters\n",
        "Made from the registries by `make reference`; do not edit. `playpath list KIND` prints the same. A value outside its range is an "
        "error that says what is allowed. Defaults are the component's own; a sender's profile (`linux`, `ns2`, `rfc`) sets some of them "
        "otherwise, which `playpath show SCENARIO` tells.\n",
    ]
    for kind, (heading, chosen, set_as) in KINDS.items():
        parts.append(f"## {heading}\n\nChosen by name: `{chosen}`. `playpath list {kind}`.\n")
        parts += [component(entry, set_as) for entry in engine.registry(kind)]
    return "\n".join(parts)


def component(entry: Mapping[str, Any], set_as: str) -> str:
    """One entry of a registry."""
    reference = f" Reference: {entry['reference']}." if entry["reference"] else ""
    twin = f" In the kernel world: `{entry['in_kernel']}`." if entry.get("in_kernel") else ""
    text = f"### {entry['name']}\n\n{cell(entry['summary'])}.{reference}{twin}\n"
    if not entry["params"]:
        return text
    first = entry["params"][0]
    example = set_as.format(name=entry["name"], param=first["name"], value=typed(first["default"], set_as))
    rows = [
        f"| `{p['name']}` | {default(p)} | {cell(p['allowed'])} | {cell(p['doc'])}{told(p)} |" for p in entry["params"]
    ]
    how = f"\nSet like this: `{example}`.\n" if example else ""
    return "\n".join([text + how, "| parameter | default | allowed | what it does |", "|---|---|---|---|", *rows, ""])


def default(param: Mapping[str, Any]) -> str:
    """A default with its unit; a parameter that must be given has none."""
    if param["is_needed"]:
        return "must be given"
    value = str(param["default"]).lower() if isinstance(param["default"], bool) else str(param["default"])
    return cell(f"{value} {param['unit']}".strip()) or "none"


def told(param: Mapping[str, Any]) -> str:
    """An example, and what is different in the kernel world."""
    example = f" Example: `{param['example']}`." if param["example"] else ""
    kernel = f" Kernel world: {param['kernel']}." if param["kernel"] else ""
    return cell(example + kernel)


def typed(value: Any, set_as: str) -> str:
    """A value as it is typed in TOML; bare inside a text."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f'"{text}"' if isinstance(value, str) and set_as.count('"') <= 2 else text


def cell(text: str) -> str:
    """Text that ends no table cell."""
    return text.replace("|", "\\|")


def main() -> None:
    """Write them."""
    FOLDER.mkdir(exist_ok=True)
    for file, text in pages().items():
        file.write_text(text)


if __name__ == "__main__":
    main()

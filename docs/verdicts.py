"""Writes docs/appendix/verdicts.md: what the shipped scenarios' comparisons say by the order of the criteria and by what viewers weigh.

And the answer that docs/guide.md has as its example.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import mdformat

import playpath
from playpath.judge.ranking import Ranker

ROOT = Path(__file__).parents[1]
OPTIONS = {"wrap": 120, "plugin": {"tables": {"compact_tables": True}}}
INTRO = """# Verdicts of the shipped scenarios

Where sessions differ in their picture, a sender wins if it wins for every viewer whose weights lie in the range of the
literature ([how the winner is found](../manual/verdict.md#who-wins)). Until version 0.2 criteria were looked at one after the
other, stalls first; `--prefer stalls` still does that. This page shows both, for each scenario that compares senders,
with the seeds that it names. Scenarios whose film has one rate keep their verdict: there is no picture to weigh.

`python docs/verdicts.py` writes it.

"""


def row(path: Path) -> tuple[str, str, str, bool]:
    """Scenario, headline by order, headline by weights, and whether the last depends on the viewer."""
    result = playpath.compare(path, until_decided=False)  # a race has other seeds
    before = Ranker(result.ranker.values, result.ranker.criteria, is_random=result.ranker.is_random, prefer="stalls")
    return path.stem, before.headline, result.headline, bool(result.decision.depends)


def write_example() -> None:
    """The answer of the guide, as the command prints it."""
    result = playpath.compare("adaptive", cc="cubic,bbr")
    text = "\n".join(textwrap.fill(part, 120) for part in (result.headline, result.verdict))
    guide = ROOT / "docs/guide.md"
    guide.write_text(
        re.sub(r"(## Read the answer\n\n```\n).*?\n(?=```)", rf"\g<1>{text}\n", guide.read_text(), flags=re.DOTALL)
    )


def main() -> int:
    """Play and write."""
    rows = []
    for path in sorted([*(ROOT / "scenarios").glob("*.toml"), *(ROOT / "scenarios" / "l4s").glob("*.toml")]):
        if len(playpath.load(path).senders) > 1:
            rows.append(row(path))
            print(*rows[-1], sep=" | ", file=sys.stderr)
    depends = sum(found for *_, found in rows)
    table = "".join(
        f"| *{name}* | {before} | {after if after != before else 'the same'} |\n" for name, before, after, _ in rows
    )
    shown = f'Of {len(rows)} scenarios {depends} end in "it depends on the viewer".\n'
    text = f"{INTRO}| scenario | stalls first | weighed |\n| --- | --- | --- |\n{table}\n{shown}"
    (ROOT / "docs/appendix/verdicts.md").write_text(mdformat.text(text, options=OPTIONS, extensions=["gfm"]))
    write_example()
    return 0


if __name__ == "__main__":
    sys.exit(main())

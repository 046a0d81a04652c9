"""The section on the effect of a value on each sender."""

from collections.abc import Sequence
from html import escape

from playpath.results.effects import Effect
from playpath.show.report import html


def effects_section(found: Sequence[Effect], paired: str) -> str:
    """A row for each value and sender; `paired` names what they are paired by. Empty if there are no effects."""
    rows = [[*map(escape, (e.value, e.against, e.sender, e.outcome, e.sentence))] for e in found]
    note = (
        f"Each value against the first, sender by sender, paired by {paired}. Alike: a difference that a viewer would notice "
        "is ruled out; open: not proven either way."
    )
    table = html.table(["value", "against", "for sender", "outcome", "in words"], rows, classes="cards words")
    return html.section("What a value does for whom", table, note=note, anchor="effects") if rows else ""

"""Output of the commands: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from playpath.base.metrics import about_runs, format_difference, format_value, metric
from playpath.base.printing import write_answer

if TYPE_CHECKING:  # not imported at run time: a one-line error should not wait for statistics and data frames
    from playpath.results.comparison import Comparison

# As wide as the terminal; elsewhere COLUMNS, or 80. No emoji, since `A:smile:B` may be a name.
out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)

_NETWORK = ("goodput_mbps", "retransmitted_packets", "rto_count", "mean_rtt_ms", "mean_queue_packets")
_MAX_COLUMNS = 6
_MAX_WARNINGS = 20
_WIDE = 10_000
_CONTROLS = {
    code: chr(code).encode("unicode_escape").decode()
    for code in (*range(32), *range(127, 160), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Line breaks, terminal escapes and changes of the writing direction → how they are shown."""


def print_json(value: Any) -> None:
    """One JSON value and a line break on stdout."""
    write_answer(json.dumps(value, allow_nan=False) + "\n")  # escaped: any encoding of stdout can take it


def plain(text: str) -> str:
    r"""Make a user's text safe for printing: no markup, no control characters, one line.

    >>> plain("[/b]\nx\x1b[2J")
    '\\[/b]\\nx\\x1b[2J'
    """
    return escape(text.translate(_CONTROLS))


def message(text: str) -> None:
    """Print a line on stderr; if stderr cannot be written the line is lost, but the exit status stays the same."""
    with suppress(OSError):
        err.print(plain(text), soft_wrap=True)


def warn(texts: Iterable[str], kind: str = "warning") -> None:
    """Print a line on stderr for each text, and for very many only the number of the rest."""
    shown = list(texts)
    for text in shown[:_MAX_WARNINGS]:
        err.print(f"[yellow]{kind}:[/yellow] {plain(text)}", soft_wrap=True)
    if len(shown) > _MAX_WARNINGS:
        err.print(f"[yellow]{kind}:[/yellow] and {len(shown) - _MAX_WARNINGS} more", soft_wrap=True)


def warn_of_other_builds(count: int, what: str, folder: Path) -> None:
    """Say what a folder keeps of other builds of the engine, which is not used."""
    if count:
        warn([f"{folder}: {count} {what} of another build of the engine, which are not used"])


@contextmanager
def progress(what: str) -> Iterator[Callable[[float, int], None]]:
    """A progress bar on stderr, or without a terminal a line every 10 s; yields a function of (done, total)."""
    if not err.is_terminal:
        yield ProgressLines(what)
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


class ProgressLines:
    """Progress for logs: a plain line every `every_s` seconds, so that a short run prints none."""

    def __init__(self, what: str, every_s: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._every_s, self._clock = what, every_s, clock
        self._start = self._last = clock()

    def __call__(self, done: float, total: int) -> None:
        """Report progress; it is printed when it is time. A total of 0 is unknown, as for a log that is read as a stream."""
        now = self._clock()
        if now - self._last >= self._every_s:
            self._last = now
            of = f" of {total}" if total else ""
            message(f"{self._what}: {int(done)}{of} after {now - self._start:.0f} s")


def print_comparison(result: Comparison) -> None:
    """Print the ranked tables, the paired differences, the verdict and the warnings."""
    from playpath.judge.stats import MIN_FOR_INTERVAL  # slow to import

    viewer = [name for name in result.shown_criteria if name not in _NETWORK][:_MAX_COLUMNS]
    network = [name for name in _NETWORK if name in result.metric_names]
    seeds = len(result.seeds)
    shown = "median (95 % interval)" if seeds >= MIN_FOR_INTERVAL else "mean"
    fewer = [f"{sender} stopped after {count}" for sender, count in result.left.items()]
    raced = [] if result.most is None else [f"a race of {result.table.height} sessions, at most {result.most} seeds"]
    played = "; ".join(
        [f"{seeds} seed{'s' if seeds > 1 else ''}{'' if fewer else ', the same for all'}", *fewer, *raced]
    )
    out.print(f"[dim]{shown}; {plain(played)}[/dim]", soft_wrap=not out.is_terminal)
    if viewer:
        print_table(_fitting(lambda stacked: _means("what the viewer sees", result, viewer, stacked=stacked)))
    print_table(_fitting(lambda stacked: _means("what it costs the network", result, network, stacked=stacked)))
    if len(result.ranking) > 1 and seeds > 1:
        print_table(_differences(result))
    if result.failures:
        print_table(_failures(result))
    out.print()
    out.print(f"[bold]{plain(result.headline)}[/bold]", soft_wrap=not out.is_terminal)
    if result.verdict != result.headline:
        out.print(plain(result.verdict), soft_wrap=not out.is_terminal)
    for text in result.warnings:
        warn([text])


def new_table(heads: Iterable[str], title: str | None = None, *, left: Sequence[str] | None = None) -> Table:
    """A table without lines between its cells. The columns in `left`, by default all, are flush left, the others flush right.

    Heads may have several lines and markup, so names in them must already be `plain`.
    """
    table = Table(
        title=title and plain(title),
        title_justify="left",
        title_style="dim",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for head in heads:
        table.add_column(head, justify="left" if left is None or head in left else "right", overflow="fold")
    return table


def print_table(table: Table, *, below: str = "\n") -> None:
    """Print a table after an empty line. If not even its longest words fit, its lines are longer; no word is cut."""
    out.print(below, end="")
    width = out.width if fits(table) else _lay_out(table)
    (out if width <= out.width else Console(file=out.file, width=width, highlight=False, emoji=False)).print(table)


def print_records(title: str, records: Sequence[Mapping[str, str]]) -> None:
    """Print records with the same keys: one per line, or, if that is too wide, one per column, in several tables if necessary."""
    flat = new_table(records[0], title)
    for record in records:
        flat.add_row(*map(plain, record.values()))
    if fits(flat):
        print_table(flat)
        return
    at = 0
    while at < len(records):
        count = next(
            n for n in range(len(records) - at, 0, -1) if n == 1 or fits(_columns(title, records[at : at + n]))
        )
        print_table(_columns(title, records[at : at + count]))
        at += count


def fits(table: Table) -> bool:
    """Whether the table fits the output without wrapping."""
    return _measured(table).maximum <= out.width


def _lay_out(table: Table) -> int:
    """Give every column the width of its longest word, and distribute the rest; rich would cut words of the widest columns.

    Returns the table's width.
    """
    texts = [[_text(cell) for cell in (column.header, *column.cells)] for column in table.columns]
    most = [column.max_width or _WIDE for column in table.columns]
    wanted = [_longest(line for text in cells for line in text.splitlines()) for cells in texts]
    wanted = [min(one, limit) for one, limit in zip(wanted, most, strict=True)]
    words = [_longest(word for text in cells for word in text.split()) for cells in texts]
    words = [min(one, limit) for one, limit in zip(words, most, strict=True)]
    least = [wanted[at] if column.no_wrap else words[at] for at, column in enumerate(table.columns)]
    borders = _measured(table).maximum - sum(wanted)
    room = max(out.width - borders - sum(least), 0)
    by_need = sorted(range(len(least)), key=lambda at: wanted[at] - least[at])
    for done, at in enumerate(by_need):
        more = min(wanted[at] - least[at], room // (len(least) - done))
        table.columns[at].width = least[at] + more
        room -= more
    return borders + sum(column.width or 0 for column in table.columns)


def _longest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


def _text(cell: Any) -> str:
    return (cell if isinstance(cell, Text) else Text.from_markup(str(cell), emoji=False)).plain


def _columns(title: str, records: Sequence[Mapping[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2), pad_edge=True)
    table.title, table.title_justify = title, "left"
    table.add_column(style="dim")
    for name in records[0]:
        table.add_row(name, *(plain(record[name]) for record in records))
    return table


def _measured(table: Table) -> Measurement:
    """A table's minimum width, with one word per line, and its maximum width."""
    return Measurement.get(out, out.options.update(width=_WIDE), table)


def _fitting(make: Callable[[bool], Table]) -> Table:
    """A table with one line per row, or, if that is too wide, with intervals below their means."""
    flat = make(False)
    return flat if fits(flat) else make(True)


def _new_table(title: str, result: Comparison) -> Table:
    who = "choice" if result.scenario.choices else "sender"
    return new_table(("#", who), title, left=(who,))


def _means(title: str, result: Comparison, names: list[str], *, stacked: bool) -> Table:
    from playpath.results.comparison import format_summary

    table = _new_table(title, result)
    for name in names:
        entry = metric(name)
        table.add_column(f"{_column_title(entry.label)}\n{entry.unit}", justify="right")
    for sender in result.ranking:
        cells = [format_summary(result.summary(sender, name)) for name in names]
        if stacked:
            cells = [cell.replace(" (", "\n").replace(" to ", "…").rstrip(")") for cell in cells]
        table.add_row(result.decision.place(sender), plain(sender), *cells)
    for sender in result.unranked:
        table.add_row("–", plain(sender), *("failed" for _ in names))
    return table


def _failures(result: Comparison) -> Table:
    """The sessions that failed, with the reasons."""
    table = new_table(("sender", "seeds", "reason"), "failed sessions")
    for sender, seeds, reason in result.failed_rows:
        table.add_row(plain(sender), seeds, f"[red]{plain(reason)}[/red]")
    return table


def _column_title(label: str) -> str:
    """A label of several words, split into two lines."""
    first, _, rest = label.partition(" ")
    return f"{first}\n{rest}"


def _differences(result: Comparison) -> Table:
    """A row for each other sender: the first criterion in which it differs from the best."""
    best = result.ranking[0]
    table = _new_table(f"against {best}, paired by seed, at the first criterion in which they differ", result)
    for title in ("criterion", "difference", "95 %", "p"):
        table.add_column(title, justify="left" if title == "criterion" else "right")
    table.add_column("")
    if result.decision.open:
        table.add_column("more\nruns", justify="right")
    for sender in result.ranking[1:]:
        table.add_row(result.decision.place(sender), plain(sender), *_difference_cells(result, sender))
    return table


def _difference_cells(result: Comparison, sender: str) -> list[str]:
    decision = result.decision
    word = plain(decision.standing(sender))
    if sender in decision.tied:
        return ["all", "", "", "", word]
    if sender in decision.open:
        word = f"[yellow]{word}[/yellow]"
    name = decision.deciding[sender]
    found = result.ranker.difference(sender, decision.against[sender], name)
    if found is None:
        return [metric(name).label, "–", "–", "–", word]
    more = decision.more_runs_of.get(sender)
    unit = metric(name).unit
    interval = "–"
    if found.ci95 is not None:
        low, high = (format_value(value) for value in found.ci95)
        interval = f"{low} to {high}"
    # On which the word beside it rests: where viewers weigh, of what all parts sum up to.
    p = decision.p_values.get(sender)
    p_value = "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"
    difference = f"{format_difference(found.middle)} {unit}".strip()
    if found.significant and found.ci95 is not None and found.ci95[0] <= 0 <= found.ci95[1]:
        difference += f"\nmean {format_difference(found.mean)}"
    return [metric(name).label, difference, interval, p_value, word, *([f"~{about_runs(more)}"] if more else [])]

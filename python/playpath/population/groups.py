"""Groups of viewers: a label for each path."""

import numpy as np
import polars as pl

from playpath.base.metrics import format_value

_FEW_VALUES = 4
"""Up to so many different numbers, each is a group of its own; more are divided into quartiles."""
_MAX_NAMES = 24
"""Up to so many different names, each is a group of its own; of more, only the frequent ones are."""

_NOTHING = "(empty)"


def group_labels(paths: pl.DataFrame, column: str) -> pl.DataFrame:
    """A label for each path, and the position of its group among the others.

    Numbers are labelled by their quartile; of many names the rare ones share a label. A path without a value has a null label.
    """
    values = paths[column]
    if not values.dtype.is_numeric():
        places = _names(values)
    elif values.n_unique() > _FEW_VALUES:
        places = _quarters(values)
    else:
        places = _each(values)
    labels, orders = zip(*places, strict=True)
    return pl.DataFrame({"path": paths["path"], "label": labels, "order": orders})


def group_title(column: str) -> str:
    """A column's title for people."""
    titles = {"rate_mbps": "mean rate (Mbit/s)", "rtt_ms": "RTT (ms)", "loss_percent": "random loss (%)"}
    return titles.get(column, column.removeprefix("group."))


def _names(values: pl.Series) -> list[tuple[str | None, int]]:
    values = values.replace("", _NOTHING)
    counted = values.drop_nulls().value_counts(name="paths").sort("paths", values.name, descending=[True, False])
    names = counted[values.name].to_list()
    frequent = sorted(names if len(names) <= _MAX_NAMES else names[: _MAX_NAMES - 1])
    order = {name: place for place, name in enumerate(frequent)}
    others = f"{len(names) - len(frequent)} others"
    return [(None, -1) if v is None else (v if v in order else others, order.get(v, len(frequent))) for v in values]


def _each(values: pl.Series) -> list[tuple[str | None, int]]:
    order = {value: place for place, value in enumerate(values.drop_nulls().unique().sort())}
    return [(None, -1) if v is None else (format_value(v), order[v]) for v in values]


def _quarters(values: pl.Series) -> list[tuple[str | None, int]]:
    cuts = sorted({float(q) for q in np.quantile(values.drop_nulls().to_numpy(), [0, 0.25, 0.5, 0.75, 1])})
    last = max(1, len(cuts) - 1)
    places = (
        None if v is None else min(max(int(np.searchsorted(cuts, v, side="right")) - 1, 0), last - 1) for v in values
    )
    upper = [*cuts[1:], cuts[-1]]
    return [(None, -1) if p is None else (f"{format_value(cuts[p])} to {format_value(upper[p])}", p) for p in places]

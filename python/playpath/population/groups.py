"""What viewers are told apart by: a label for each path."""

from __future__ import annotations

import numpy as np
import polars as pl

_FEW_VALUES = 4
"""So many different figures are groups of their own; more are told apart by quarters."""


def group_labels(paths: pl.DataFrame, column: str) -> pl.DataFrame:
    """A label for each path: of numbers the quarter they lie in."""
    values = paths[column]
    if not values.dtype.is_numeric():
        return pl.DataFrame({"path": paths["path"], "label": values})
    if values.n_unique() <= _FEW_VALUES:
        order = {value: place for place, value in enumerate(values.unique().sort())}
        return pl.DataFrame({"path": paths["path"], "label": [f"{order[v]}|{v:.3g}" for v in values]})
    cuts = sorted({float(q) for q in np.quantile(values.drop_nulls().to_numpy(), [0, 0.25, 0.5, 0.75, 1])})
    last = max(1, len(cuts) - 1)
    labels = []
    for value in values:
        place = min(max(int(np.searchsorted(cuts, value, side="right")) - 1, 0), last - 1)
        upper = cuts[min(place + 1, len(cuts) - 1)]
        labels.append(f"{place}|{cuts[place]:.3g} to {upper:.3g}")
    return pl.DataFrame({"path": paths["path"], "label": labels})

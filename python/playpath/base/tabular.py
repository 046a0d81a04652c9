"""What every result with a table has: the frame for polars, pandas and Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playpath.base.declared import Scalar
from playpath.base.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Scalar | None]
"""Of a table: column name → value."""
Named = dict[str, Any]
"""A row as polars gives it back, lists and structs among its cells: column name → value."""
Json = dict[str, Any]
"""What a result says in JSON, for programs of others; the documents say which keys it has."""


class Tabular:
    """`to_polars` in three forms."""

    def to_polars(self) -> pl.DataFrame:
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """As `to_polars`, for pandas."""
        try:
            return self.to_polars().to_pandas()
        except ImportError:
            raise InputError(
                "to_pandas: pandas and pyarrow are not installed; pip install 'playpath[pandas]'"
            ) from None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table for anything that reads the Arrow capsule protocol."""
        return self.to_polars().__arrow_c_stream__(requested_schema)

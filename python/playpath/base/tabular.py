"""Results with a table, which can be read as a polars or pandas frame or through Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playpath.base.declared import Scalar
from playpath.base.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Scalar | None]
"""A table row: column name → value."""
Named = dict[str, Any]
"""A row as polars returns it, with lists and structs among its cells: column name → value."""
Json = dict[str, Any]
"""A result as JSON for other programs; the documentation lists its keys."""


class Tabular:
    """`to_polars` in three forms, and whether two results are the same."""

    def to_dict(self) -> Json:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        """By what they say; frames and columns, which dataclasses would compare, have no single truth value."""
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def to_polars(self) -> pl.DataFrame:
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame. InputError if pandas or pyarrow is not installed."""
        try:
            return self.to_polars().to_pandas()
        except ImportError:
            raise InputError(
                "to_pandas: pandas and pyarrow are not installed; pip install 'playpath[pandas]'"
            ) from None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table for any consumer of the Arrow PyCapsule protocol."""
        return self.to_polars().__arrow_c_stream__(requested_schema)

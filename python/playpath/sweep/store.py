"""The store: Parquet shards named by the SHA-256 of their content, and by the build of the engine that made them.

A shard is written to a temporary file and then renamed, so it is complete or absent; its name shows whether its content is
intact. So a store survives SIGKILL at any moment, several sweeps may share one, and copying stores together merges them.
Cells found twice are equal, because equal ids mean equal results.
"""

import hashlib
import io
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from playpath.base import engine
from playpath.base.errors import RunError
from playpath.base.files import replaced

_CORRUPT = ".corrupt"


class Store:
    """A folder of shards.

    Args:
        folder: Created when the first shard is written.

    Attributes:
        set_aside: Shards whose content did not match their name; they are renamed, and their cells are run again.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.set_aside: list[Path] = []

    @property
    def shards(self) -> Path:
        """The folder of the shards; SQL engines can read `shards/*.parquet`."""
        return self.folder / "shards"

    def add(self, shard: bytes) -> Path:
        """Store a shard and return its path. Storing the same content again changes nothing."""
        path = self.shards / f"{hashlib.sha256(shard).hexdigest()}{_own_ending()}"
        if not path.exists():
            with replaced(path) as temporary:
                temporary.write_bytes(shard)
        return path

    def of_other_builds(self) -> int:
        """The number of shards, if all are of other builds of the engine: they are not used, since their results may differ."""
        names = [path.name for path in self.shards.glob("*.parquet")]
        return 0 if any(name.endswith(_own_ending()) for name in names) else len(names)

    def cells(self) -> set[str]:
        """Ids of all cells in intact shards."""
        whole = list(self._whole())
        if not whole:
            return set()
        # Shards have the metrics of their players, so not all have the same columns.
        names = pl.scan_parquet(whole, schema={"cell": pl.String}, extra_columns="ignore", glob=False)
        return set(names.collect()["cell"].to_list())

    def rows(self, ids: pl.Series) -> pl.DataFrame:
        """The stored rows of these cells, each once; columns missing in a shard are null."""
        wanted = pl.DataFrame({"cell": ids})
        alike = defaultdict(list)  # shards with the same schema are read together: one by one, thousands take seconds
        for path in self._whole():
            alike[tuple(pl.read_parquet_schema(path).items())].append(path)
        parts = [pl.read_parquet(paths, glob=False).join(wanted, on="cell", how="semi") for paths in alike.values()]
        parts = [part for part in parts if part.height]
        if not parts:
            return pl.DataFrame(schema={"cell": pl.String})
        return pl.concat(parts, how="diagonal_relaxed").unique("cell", keep="any")

    def pack(self, least: int = 1000) -> None:
        """Merge shards with the same columns if there are very many, since thousands of files are slow to read.

        The new shard is written before the old ones are removed, so being killed in between loses nothing.
        """
        alike = defaultdict(list)
        for path in self._whole():
            alike[tuple(pl.read_parquet_schema(path).items())].append(path)
        if sum(map(len, alike.values())) < least:
            return
        for paths in alike.values():
            buffer = io.BytesIO()
            pl.read_parquet(paths, glob=False).unique("cell", keep="any", maintain_order=True).write_parquet(buffer)
            packed = self.add(buffer.getvalue())
            for path in paths:
                if path != packed:
                    path.unlink(missing_ok=True)

    def check_whole(self, ids: pl.Series, found: pl.DataFrame) -> None:
        """Raise RunError unless rows were found for all these cells."""
        lost = ids.n_unique() - found.height
        if lost:
            raise RunError(
                f"store {self.folder}: {lost} of {ids.n_unique()} cells that were run are missing; "
                "was it moved or deleted? Run the same command again to replace them"
            )

    def _whole(self) -> Iterator[Path]:
        """This build's shards whose name matches their content; the others are set aside."""
        for path in sorted(self.shards.glob(f"*{_own_ending()}")):
            if path.name == f"{hashlib.sha256(path.read_bytes()).hexdigest()}{_own_ending()}":
                yield path
            else:
                aside = path.with_suffix(_CORRUPT)
                path.rename(aside)
                self.set_aside.append(aside)


def _own_ending() -> str:
    return f".{engine.build()}.parquet"

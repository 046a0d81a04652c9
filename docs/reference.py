"""Write the reference pages that follow from registries: `make reference`. A test says when they are out of date."""

from __future__ import annotations

from pathlib import Path

from playpath import engine

FOLDER = Path(__file__).parent / "reference"


def pages() -> dict[Path, str]:
    """Every page, and what it has to say."""
    schema, metrics = engine.record_reference()
    return {FOLDER / "record.schema.json": schema, FOLDER / "metrics.md": metrics}


def main() -> None:
    """Write them."""
    FOLDER.mkdir(exist_ok=True)
    for file, text in pages().items():
        file.write_text(text)


if __name__ == "__main__":
    main()

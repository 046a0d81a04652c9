"""Writes the typed Python forms of documents and records, `python/playpath/{scenario,results}/*.pyi`: part of `make setup`.

They follow from the engine's declarations, so they are made by the engine that was just built and lie in no repository.
"""

from __future__ import annotations

import typed_documents
import typed_records

from playpath.base import engine


def main() -> None:
    """Write those that have changed."""
    record, measurements, _ = engine.record_reference()
    for file, text in {**typed_documents.modules(), **typed_records.modules(record, measurements)}.items():
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


if __name__ == "__main__":
    main()

"""`playpath schema`: the JSON Schema of a scenario, sweep or population, for editors."""

from typing import Annotated

import typer

from playpath.base import engine


def command(
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="scenario, sweep or population.")] = "scenario",
) -> None:
    """Print the JSON Schema of a document, with which editors complete and check it.

    Save it next to your files and begin each of them with the line `#:schema ./scenario.schema.json` (taplo, Even Better TOML).
    """
    print(engine.schema(document), end="")

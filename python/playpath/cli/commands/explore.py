"""`playpath explore`: play with a path in the browser."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from playpath.base.files import check_file, write_text
from playpath.cli.commands import completing
from playpath.scenario import shipped
from playpath.show import console, explorer


def command(
    scenario: Annotated[
        Path | None,
        typer.Argument(
            metavar="SCENARIO",
            help="Scenario file, or the name of a shipped one; without it `wireless`.",
            autocompletion=completing.scenario,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the page to a file, which works without a server."),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port on 127.0.0.1; 0 picks a free one.")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open the explorer: change rate, loss, queue or film, and see at once which sender keeps the video playing.

    Everything is computed in the page. It is served to this machine alone until Ctrl-C.
    """
    page = explorer.page(scenario)
    if out is not None:
        check_file(out, "--out", [shipped.find(scenario)] if scenario else ())
        write_text(out, page)
        console.message(f"page: {out}")
        return
    with explorer.PageServer(page, port) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        console.message(f"explorer: {address} (Ctrl-C stops it)")
        if browser:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return

"""`playpath new control`: a crate with a congestion control of one's own, built outside the tree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from playpath.base import engine
from playpath.base.errors import InputError
from playpath.base.files import write_text
from playpath.cli.commands import options
from playpath.show import console

_BORDER = "src/playpath.rs"

commands = typer.Typer(no_args_is_help=True, help="Write the crate of a congestion control of your own.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(commands, name="new")
    commands.callback()(lambda: None)


@commands.command("control")
def control(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the control and its crate: letters, digits, _.")],
    out: options.Out = None,
    update: Annotated[
        bool, typer.Option("--update", help=f"Only write {_BORDER} of this playpath's version into the crate.")
    ] = False,
) -> None:
    """Write a Rust crate with a congestion control that builds as it is, into the folder NAME or --out.

    `cargo build --release` in it gives a library that takes part wherever senders do; nothing of playpath is built.
    """
    if not re.fullmatch("[a-z][a-z0-9_]{0,60}", name):
        raise InputError(f"NAME '{name}': must be small letters, digits and _, beginning with a letter")
    folder = out or Path(name)
    files = {path: _named(content, path, name) for path, content in engine.control_template()}
    if update:
        if not (folder / _BORDER).is_file():
            raise InputError(f"--update: there is no {folder / _BORDER}")
        files = {_BORDER: files[_BORDER]}
    elif folder.exists():
        raise InputError(f"{folder} exists; give another --out, or --update to renew {_BORDER} alone")
    for path, content in files.items():
        write_text(folder / path, content)
    library = folder / "target/release" / f"lib{name}.so"
    console.message(f"written: {folder}; try it:")
    console.message(f"  cargo build --release --manifest-path {folder / 'Cargo.toml'}")
    console.message(f'  playpath compare wireless --cc "cubic,{library}:{name}"')


def _named(content: str, path: str, name: str) -> str:
    """With the crate's names; the border's file as it is."""
    if path == _BORDER:
        return content
    return content.replace("NAME", name).replace("TYPE", "".join(part.capitalize() for part in name.split("_")))

"""`playpath show`: a scenario or a population on one page, before anything runs."""

import copy
from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from playpath.base import engine
from playpath.cli.commands import options
from playpath.population import is_population, load_population
from playpath.population.inspection import constant, document, inspect, write
from playpath.run.sanity import doubts
from playpath.scenario import load, read
from playpath.show import console
from playpath.show.overview import Block, blocks, understood


def command(scenario: options.ScenarioFile, setting: options.Set = None, json: options.Json = False) -> None:
    """Show video, player, paths and senders of a scenario, with every default that is filled in.

    For a population, also show what is drawn and how widely it spreads.
    """
    given = options.settings(setting)
    population = load_population(scenario, set=given) if is_population(scenario) else None
    loaded = load(scenario, set=given) if population is None else population.base
    film = engine.film_figures(loaded.text)
    if population is None:
        name, lines = loaded.name, understood(loaded, film)
        written = copy.deepcopy(dict(read(scenario)))
    else:
        name, lines = population.name, inspect(population).lines()
        written = dict(document(population))
    for key, value in given.items():
        write(written, key.split("."), value)
    page = blocks(written, loaded.resolved if population is None else constant(population))
    if json:
        console.print_json({"name": name, "understood": lines, "blocks": [dict(block.__dict__) for block in page]})
        return
    for line in filter(None, (name, loaded.description, *lines)):
        console.out.print(Text(line))
    console.print_table(_table(page))
    console.warn([*(film.get("warnings", []) if film else []), *doubts(loaded)])


def _table(page: list[Block]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", max_width=24)
    table.add_column()
    table.add_column(overflow="fold")
    for block in page:
        title = Text(block.title, style="bold")
        for word, values in (("given", block.given), ("default", block.defaults)):
            if values:
                table.add_row(title, Text(word, style="dim"), Text(_line(values), style="dim" * (word == "default")))
                title = Text()
    return table


def _line(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{key} {value}" for key, value in values.items())

"""`playpath doctor`: what this machine can run."""

from dataclasses import asdict

from rich.table import Table

from playpath.cli.commands import options
from playpath.real.doctor import can_run, examine
from playpath.show import console


def command(json: options.Json = False) -> None:
    """Say what this machine can run, what is missing, and how to get it. Always exits 0."""
    checks = examine()
    able = can_run(checks)
    if json:
        console.print_json({"can_run": able, "checks": [asdict(check) for check in checks]})
        return
    for area, complete in able.items():
        mark = "[green]ready[/green]" if complete else "[yellow]incomplete[/yellow]"
        console.out.print(f"[bold]{area}[/bold]  {mark}")
        table = Table(box=None, show_header=False, padding=(0, 1, 0, 2))
        for check in (c for c in checks if c.area == area):
            sign = "[green]✓[/green]" if check.is_there else "[yellow]✗[/yellow]"
            remedy = f"[yellow]→ {console.plain(check.remedy)}[/yellow]" if check.remedy else ""
            table.add_row(sign, check.name, f"{console.plain(check.detail)} {remedy}".strip())
        console.print_table(table, below="")

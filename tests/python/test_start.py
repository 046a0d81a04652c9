"""What a new user meets first: the cost of `--help`, the names of `playpath`, how results print."""

import subprocess
import sys

import pytest

import playpath
from playpath.commands import COMMANDS, Commands

HEAVY = ("matplotlib", "numpy", "playpath.compare", "polars", "rich", "scipy")


def modules_after(*arguments):
    """What a `playpath` process has imported at its end."""
    code = f"import sys; sys.argv = ['playpath', *{arguments!r}]\nfrom playpath.cli import main\n" + (
        "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stderr.split()


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_help_and_version_import_nothing_heavy(option):
    assert not set(HEAVY) & set(modules_after(option))


def test_a_comparison_without_a_report_draws_nothing(small):
    imported = modules_after("compare", str(small), "--json")
    assert "polars" in imported
    assert not {"matplotlib", "scipy.stats", "scipy.optimize"} & set(imported)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_found_under_its_name(name):
    assert Commands(name="playpath").get_command(None, name).name == name


def test_a_wrong_command_names_the_nearest(cli):
    done = cli("compar")
    assert done.status == 2
    assert "Did you mean 'compare'?" in done.err


def test_verbs_stay_functions_whatever_is_imported():
    code = (
        "import playpath.compare, playpath.sweep.runner, playpath.population.play, playpath.tune, playpath, types\n"
        "for name in playpath.__all__: assert isinstance(getattr(playpath, name), types.ModuleType) == (name == 'plots'), name"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        playpath.nothing  # noqa: B018


def test_results_print_on_one_line(comparison):
    for shown in (comparison, comparison.scenario, *comparison.timelines.values()):
        assert "\n" not in repr(shown)
        assert len(repr(shown)) < 600
    assert comparison.verdict in repr(comparison)


def test_a_bare_name_is_a_list_of_one(small):
    assert playpath.load(small, cc="cubic").senders == ["cubic"]
    assert playpath.load(small, cc="cubic, ccplb(pob_rate=2)").senders == ["cubic", "ccplb(pob_rate=2)"]

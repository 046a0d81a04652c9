"""Completions of option values: names from the registries; otherwise the shell completes file names."""

from collections.abc import Callable, Iterable


def scenario(incomplete: str) -> list[str]:
    from playpath.scenario import shipped

    return _beginning(shipped.files(), incomplete)


def registered(kind: str) -> Callable[[str], list[str]]:
    """Complete the last name of a comma-separated list with names from a registry."""

    def complete(incomplete: str) -> list[str]:
        from playpath.base import engine

        before, comma, last = incomplete.rpartition(",")
        names = (entry["name"] for entry in engine.registry(kind))
        return [f"{before}{comma}{name}" for name in _beginning(names, last)]

    return complete


def world(incomplete: str) -> list[str]:
    from playpath.base.worlds import WORLDS

    return _beginning(WORLDS, incomplete)


def player(incomplete: str) -> list[str]:
    from playpath.real.testbed.players import PLAYERS

    return _beginning(PLAYERS, incomplete)


def words(*allowed: str) -> Callable[[str], list[str]]:
    return lambda incomplete: _beginning(allowed, incomplete)


def files(_: object, __: object, ___: str) -> list[str]:
    """No completions, so that the shell offers files."""
    return []


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))

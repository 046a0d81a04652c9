"""Support for modules that hold only types: type checkers read a generated `.pyi` next to them (`tools/typed_forms.py`)."""


def at_run_time(name: str) -> type[dict[str, object]]:
    """The `__getattr__` of such a module: at run time each of its types is `dict`."""
    if name.startswith("__"):
        raise AttributeError(name)
    return dict

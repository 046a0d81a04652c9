"""Modules of types alone: what type checkers read is a `.pyi` beside them, which the build makes (`tools/typed_forms.py`)."""


def at_run_time(name: str) -> type[dict[str, object]]:
    """The `__getattr__` of such a module: at run time each of its types is a dict."""
    if name.startswith("__"):
        raise AttributeError(name)
    return dict

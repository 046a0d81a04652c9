"""Types alone: type checkers read `recorded.pyi`, which the build makes (`tools/typed_forms.py`). At run time each is a dict."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return dict

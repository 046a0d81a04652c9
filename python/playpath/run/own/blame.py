"""Errors in the user's own code, as one line that names its file and line."""

import os
import traceback
from collections.abc import Callable
from typing import Any


def blamed(error: BaseException, target: Callable[..., Any] | None = None, method: str = "__init__") -> str:
    """An error in own code, as in `mine.py:12, in on_report: KeyError: 'gain'`.

    Args:
        error: The exception that the code raised, or an error about its answer.
        target: The callable, which gives the location if the error does not.
    """
    what = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    if isinstance(error, SyntaxError):
        return f"{_short(error.filename or '?')}:{error.lineno}: SyntaxError: {error.msg}"
    place = _raised_at(error) or _defined_at(target, method)
    return f"{place}: {what}" if place else what


def _raised_at(error: BaseException) -> str:
    """The innermost line outside this package and the standard library."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    if not frames:
        return ""
    return f"{_short(frames[-1].filename)}:{frames[-1].lineno}, in {frames[-1].name}"


def _is_ours(file: str) -> bool:
    library, package = os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    return file.startswith(("<frozen", package + os.sep)) or (file.startswith(library) and "-packages" not in file)


def _defined_at(target: Callable[..., Any] | None, method: str) -> str:
    code = getattr(getattr(target, method, target), "__code__", None)
    return f"{_short(code.co_filename)}:{code.co_firstlineno}, in {method}" if code else ""


def _short(file: str) -> str:
    """The path, relative if that is shorter."""
    return min(file, os.path.relpath(file), key=len) if os.path.isabs(file) else file

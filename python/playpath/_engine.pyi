"""The Rust extension module; see crates/python. JSON in, JSON and numpy columns out."""

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

class ScenarioError(ValueError):
    """The scenario is wrong; the message is one line."""

def version() -> str: ...
def resolve(text: str, base_dir: str, overrides_json: str) -> str: ...
def path_figures(resolved_json: str) -> str: ...
@overload
def run(
    resolved_json: str,
    sender_name: str,
    seed: int,
    trace: Literal[False],
    controller: Callable[[], Any] | None,
    rule: Callable[[], Any] | None,
) -> str: ...
@overload
def run(
    resolved_json: str,
    sender_name: str,
    seed: int,
    trace: Literal[True],
    controller: Callable[[], Any] | None,
    rule: Callable[[], Any] | None,
) -> tuple[str, dict[str, dict[str, np.ndarray]]]: ...
def registry(kind: str) -> str: ...
def capture(resolved_json: str, sender: str, seed: int, path: str) -> None: ...
def p1203(resolved_json: str, sender: str, seed: int) -> str: ...
def preview_trace(text: str, format: str | None, bins: int) -> str: ...
def convert_trace(text: str, source: str | None, target: str, bin_s: float) -> str: ...
def generate_trace(kind: str, settings_json: str, seed: int, target: str) -> str: ...

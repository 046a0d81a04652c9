"""The Rust extension module; see crates/python. JSON in, JSON and numpy columns out."""

from typing import Literal, overload

import numpy as np

class ScenarioError(ValueError):
    """The scenario is wrong; the message is one line."""

def version() -> str: ...
def resolve(text: str, base_dir: str, overrides_json: str) -> str: ...
@overload
def run(resolved_json: str, sender_name: str, seed: int, trace: Literal[False]) -> str: ...
@overload
def run(
    resolved_json: str, sender_name: str, seed: int, trace: Literal[True]
) -> tuple[str, dict[str, dict[str, np.ndarray]]]: ...
def registry(kind: str) -> str: ...

"""The recorded schedules that our HTTP/2 is held to (crates/http/tests/http2.rs) are those of the machine's nghttp2."""

import json
from pathlib import Path

import nghttp2
import pytest

_RECORDED = Path(__file__).parents[2] / "crates/http/tests/data/nghttp2.json"


def test_recorded_schedules_are_those_of_nghttp2() -> None:
    library = nghttp2.library()
    if library is None:
        pytest.skip("needs libnghttp2 1.50 or newer")
    assert nghttp2.cases(library) == json.loads(_RECORDED.read_text())

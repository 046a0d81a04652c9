"""Output files: whole or not at all, and one line when it is not."""

import os
from pathlib import Path

import pytest

from playpath.base.errors import RunError
from playpath.base.files import replaced, write_text


def test_a_pipe_or_device_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(RunError, match=r"cannot write .*pipe: is a device, a pipe or a socket"):
        write_text(pipe, "text")
    assert pipe.is_fifo()


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    def write(temporary: Path) -> None:
        raise OSError(28, "No space left on device", str(temporary))

    with pytest.raises(RunError) as caught, replaced(tmp_path / "x.json") as temporary:
        write(temporary)
    assert str(caught.value) == f"cannot write {tmp_path / 'x.json'}: No space left on device"
    assert list(tmp_path.iterdir()) == []

"""Errors of the test bed: one line, with the remedy where there is one."""

from playpath.base.errors import InputError, RunError


class TestbedError(RunError):
    """A run on the real kernel failed, or cannot be started here."""

    __test__ = False  # not a test class, whatever its name says


class UnsupportedError(TestbedError):
    """What is asked for does not exist in the kernel world, on any machine like this one: nothing was tried, the input is wrong."""

    exit_status = InputError.exit_status


class MissingToolError(TestbedError):
    """The machine lacks a right or a program; tests that meet it are skipped with its message."""

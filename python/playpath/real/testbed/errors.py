"""Errors of the test bed: one line, with the remedy if there is one."""

from playpath.base.errors import InputError, RunError


class TestbedError(RunError):
    """A run on the real kernel failed or cannot be started here."""

    __test__ = False  # tells pytest that this is not a test class


class UnsupportedError(TestbedError):
    """The request is not possible in the kernel world on any machine like this one: the input is wrong, and nothing was tried."""

    exit_status = InputError.exit_status


class MissingToolError(TestbedError):
    """The machine lacks a privilege or a program; tests that raise it are skipped with its message."""

"""Errors of the test bed: one line, with the remedy where there is one."""

from __future__ import annotations


class TestbedError(Exception):
    """A run on the real kernel failed, or cannot be started here."""

    __test__ = False  # not a test class, whatever its name says
    exit_status = 1


class MissingTool(TestbedError):
    """This machine lacks a right or a program; tests that meet it are skipped with its message."""

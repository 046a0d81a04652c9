"""Foundations that every other subpackage may import: errors, files, quantities, tables, the engine's interface, metrics."""

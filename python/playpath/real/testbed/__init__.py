"""The kernel world: real Linux TCP between two network namespaces, over the link emulator, with real programs.

Needs root, and the programs that bpf/setup.sh names. Everything a run creates carries its name (`pp-PID-N`).
"""

"""tools/bench_history.py: what is read of the bench, kept, and said to cost more."""

import importlib.util
import sys
from dataclasses import replace

from conftest import ROOT

_SPEC = importlib.util.spec_from_file_location("bench_history", ROOT / "tools/bench_history.py")
bench_history = importlib.util.module_from_spec(_SPEC)
sys.modules["bench_history"] = bench_history  # data classes look it up
_SPEC.loader.exec_module(bench_history)

PRINTED = """
row                                M packets/s ns/packet    packets events/packet  bytes/flow
ns2, 1 flow, 10 Mbit/s                    4.90       204    1500000          2.00       10240   0.31 s
linux, idle: 10000 flows                   NaN       NaN          0           NaN        4050   0.02 s
100 dash sessions of 600 s                3.40       293    5000000          1.61       30000   1.50 s
"""


def entry(**changes):
    base = bench_history.Entry("a", "2026-01-01", "box", 0.1, "r", 200.0, 2.0, 4000.0)
    return replace(base, **changes)


def test_rows_with_packets_are_read():
    assert bench_history.parse(PRINTED) == {
        "ns2, 1 flow, 10 Mbit/s": (204.0, 2.0, 10240.0),
        "100 dash sessions of 600 s": (293.0, 1.61, 30000.0),
    }


def test_the_median_of_the_runs_counts():
    runs = [{"r": (ns, 2.0, 1.0)} for ns in (300.0, 200.0, 210.0)]
    assert bench_history.median(runs) == {"r": (210.0, 2.0, 1.0)}


def test_what_costs_five_per_cent_more_is_named():
    old = [entry(commit="z", ns_per_packet=100.0), entry(), entry(machine="other", ns_per_packet=1.0)]
    assert bench_history.dearer([entry(commit="b", ns_per_packet=210.0)], old) == []
    (shown,) = bench_history.dearer([entry(commit="b", ns_per_packet=212.0)], old)
    assert shown == "r: 212 ns a packet, 6 % more than at a (200 ns)"
    assert bench_history.dearer([entry(ns_per_packet=900.0)], old[1:]) == []  # the same commit, measured again


def test_the_history_survives_the_disk(tmp_path):
    entries = [entry(row='a, "b"'), entry(commit="b+", load=2.25)]
    bench_history.save(tmp_path / "h.csv", entries)
    assert bench_history.load(tmp_path / "h.csv") == entries
    assert bench_history.load(tmp_path / "none.csv") == []


def test_the_kept_history_can_be_read():
    assert all(kept.ns_per_packet > 0 for kept in bench_history.load(bench_history.HISTORY))

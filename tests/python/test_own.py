"""Congestion controls and ABR rules of one's own, beside those of the registries, wherever senders play."""

import functools
import gc
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import SMALL, TINY_POPULATION, playpath_command

import playpath
from playpath.base.errors import InputError, RunError
from playpath.run.own import sources
from playpath.scenario import load
from playpath.sweep import load_design
from playpath.sweep.cells import cells

MINE = """
from halving import half

class Mine:
    def __init__(self, gain=1.0):
        self.gain, self.has_lost = gain, False

    def on_report(self, report):
        cwnd = report["cwnd"]
        if report["event"] != "round":
            self.has_lost = True
            return max(half(cwnd), 2.0)
        if not report["may_grow"]:
            return cwnd
        return cwnd + self.gain if self.has_lost else 2.0 * cwnd

class Late:
    def on_report(self, report):
        return 20.0 / (report["now_s"] < 1.0)

class Deaf:
    pass

class Lowest:
    def choose(self, report):
        return 0

class TooHigh:
    def choose(self, report):
        return 99
"""
HALVING = "def half(cwnd):\n    return cwnd / 2\n"
TINY = SMALL.replace('duration = "10 s"', 'duration = "3 s"')
ADAPTIVE = TINY.replace('kind = "progressive"\nbuffer = "1 s"', 'kind = "dash"\nladder = "300 kbit/s, 2 Mbit/s"')


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with `mine.py` and its helper, and none of what earlier tests imported."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "halving.py").write_text(HALVING)
    (tmp_path / "tiny.toml").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sources, "_folders", [])
    monkeypatch.setattr(sources, "_imported", {})
    for name in ("mine", "halving"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield tmp_path
    for name in ("mine", "halving"):
        sys.modules.pop(name, None)


class Here:
    """Of this module."""

    def __init__(self, packets=20.0):
        self.packets = packets

    def on_report(self, report):
        return self.packets


@pytest.mark.slow
def test_a_class_plays_beside_the_built_in_ones():
    result = playpath.compare(TINY, controllers={"mine": Here, "small": functools.partial(Here, packets=4.0)})
    assert result.senders == ["newreno", "cubic", "mine", "small"]
    assert result.ranking[-1] == "small"
    entry = result.manifest["scenario"]["sender"][3]["cc"]
    assert (entry["name"], entry["packets"], len(entry["source_sha256"])) == ("test_own:Here", 4.0, 64)
    assert set(result.table.filter(sender="mine")["cc"]) == {"test_own:Here"}
    alone = playpath.run(TINY, sender="cubic", controller=Here)
    assert alone.metrics == {name: result.values("mine", name)[0] for name in alone.metrics}


def test_an_import_path_a_file_and_a_class_are_the_same(folder):
    by_option = playpath.compare("tiny.toml", cc="newreno, mine:Mine(gain=2)")
    by_file = playpath.compare("tiny.toml", cc=["newreno", "mine.py:Mine:gain=2"])
    in_scenario = folder / "own.toml"
    in_scenario.write_text(TINY.replace('cc = "cubic"', 'cc = { name = "mine:Mine", gain = 2 }'))
    by_scenario = playpath.compare(in_scenario)
    assert by_option.senders == by_scenario.senders == ["newreno", "Mine(gain=2)"]
    assert by_option.table.equals(by_file.table)
    assert by_option.table.equals(by_scenario.table)


def test_cross_traffic_and_the_player_take_own_code_too(folder):
    text = (
        ADAPTIVE.replace("ladder =", 'abr = "mine:Lowest"\nladder =') + '[[traffic]]\nkind = "bulk"\ncc = "mine:Mine"\n'
    )
    session = playpath.run(text, cc=["cubic"])
    assert session.metrics["mean_rate_kbps"] == pytest.approx(300, rel=0.2)
    assert [flow["cc"] for flow in session.flows if flow["name"] != "video"] == ["mine:Mine"]


def test_rules_are_ranked_with_every_sender(folder):
    class Top:
        def choose(self, report):
            return 1

    result = playpath.compare(ADAPTIVE, cc=["cubic"], abr=["throughput", "mine:Lowest"], abrs={"top": Top}, seeds=8)
    assert result.senders == ["cubic/throughput", "cubic/Lowest", "cubic/top"]
    assert set(result.values("cubic/top", "mean_rate_kbps")) == {2000.0}
    beside = load(ADAPTIVE, cc=["cubic"], abrs={"top": Top})
    assert beside.senders == ["cubic", "cubic/top"]
    with pytest.raises(InputError, match="needs a player that adapts"):
        load(TINY, abr=["bola"])


def test_a_changed_helper_is_another_question(folder):
    def ids():
        return [cell.id for cell in cells(load_design({"scenario": TINY, "cc": ["mine:Mine", "cubic"], "axis": _AXIS}))]

    first, before = load(TINY, cc=["mine:Mine"]), ids()
    same = playpath.compare(first)
    (folder / "halving.py").write_text(HALVING.replace("cwnd / 2", "cwnd / 1.1"))
    changed = [a != b for a, b in zip(before, ids(), strict=True)]
    assert changed == [True, False] * (len(changed) // 2)
    with pytest.raises(InputError, match="has changed since"):
        load(first, seeds=2)
    with pytest.raises(InputError, match="differs from the one requested"):
        playpath.compare(first)
    assert playpath.compare(TINY, cc=["mine:Mine"]).digest != same.digest


_AXIS = [{"key": "path.loss", "values": ["0.5 %", "2 %"]}]


@pytest.mark.slow
def test_workers_import_it_and_a_sweep_goes_on_where_it_was(folder):
    design = {"scenario": TINY, "cc": ["cubic"], "seeds": 2, "axis": _AXIS}
    (folder / "sweeping.py").write_text(
        "import json, sys, playpath\nfrom mine import Mine\n"
        "if __name__ == '__main__':\n"
        f"    design = {design!r}\n"
        "    found = playpath.sweep(design, store='store', controllers={'mine': Mine}, jobs=2)\n"
        "    print(found.table.sort('cell').select('cell', 'sender', 'digest').write_json())\n"
    )
    done = _python(folder, "sweeping.py")
    rows = json.loads(done)
    assert {row["sender"] for row in rows} == {"cubic", "mine"}
    assert None not in {row["digest"] for row in rows}
    played = len(list((folder / "store/shards").glob("*")))
    assert _python(folder, "sweeping.py") == done
    assert len(list((folder / "store/shards").glob("*"))) == played
    (folder / "mine.py").write_text(MINE.replace("2.0 * cwnd", "1.5 * cwnd"))
    assert _python(folder, "sweeping.py") != done


def _python(folder, script):
    import subprocess

    done = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.slow
def test_a_population_takes_it_from_the_command_line(folder):
    (folder / "people.toml").write_text(TINY_POPULATION)
    done = playpath_command("population", "compare", "people.toml", "--cc", "cubic,mine:Mine", "--json", cwd=folder)
    assert done.status == 0, done.err
    assert set(done.json["ranking"]) == {"cubic", "Mine"}
    assert "source_sha256" in done.json["manifest"]["scenario"]["sender"][1]["cc"]


class LeftBehind:
    """Garbage whose end lets another thread run."""

    def __init__(self):
        self.me = self

    def __del__(self):
        time.sleep(1e-4)


def test_a_module_that_changed_is_imported_by_many_threads(folder):
    """None finds it while another runs its code."""
    sources.add_folder(folder)
    file = folder / "slow.py"
    for value in range(3):
        file.write_text(f"import time\ntime.sleep(0.05)\nvalue = {value}  {'#' * value}\n")
        with ThreadPoolExecutor(4) as pool:
            assert [found.value for found in pool.map(sources.module, ["slow"] * 4)] == [value] * 4


@pytest.mark.slow
def test_sources_are_read_by_many_threads():
    """Sessions of own code begin in threads, and before 3.11.5 Python could not parse in two of them (its issue 106905)."""

    def read(_):
        LeftBehind()
        return sources.digest("test_own")

    before = gc.get_threshold()
    gc.set_threshold(20, 1, 1)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(read, range(200)))) == 1
    finally:
        gc.set_threshold(*before)


@pytest.mark.slow
def test_parameters_of_a_class_are_tuned(folder):
    found = playpath.tune([TINY], ["mine:Mine.gain=1..6"], budget=4, seeds=2)
    assert found.sender.startswith("mine:Mine(gain=")
    by_label = playpath.tune([TINY], ["own.packets=2..30"], budget=3, seeds=2, controllers={"own": Here})
    assert by_label.cc == "test_own:Here"


@pytest.mark.parametrize(
    ("cc", "said"),
    [
        ("mine:Nine", 'unknown name in mine "Nine"; did you mean "Mine"? allowed: '),
        ("mien:Mine", "there is no module 'mien'"),
        ("./mien.py:Mine", "there is no file ./mien.py"),
        ("mine:Mine(gian=2)", "mine.py:5, in __init__: TypeError"),
        ("mine:Deaf", "no method `on_report`"),
        ("broken:Mine", "broken.py:1: SyntaxError"),
        ("failing:Mine", "failing.py:1, in <module>: KeyError"),
        ("mine:MINE_", "unknown name in mine"),
    ],
)
def test_what_cannot_be_made_is_one_line_before_anything_runs(folder, cc, said):
    (folder / "broken.py").write_text("def (:\n")
    (folder / "failing.py").write_text("{}['a']\n")
    done = playpath_command("compare", "tiny.toml", "--cc", f"cubic,{cc}", cwd=folder)
    done.assert_refused(said)
    assert not (folder / "out").exists()


def test_an_error_in_own_code_names_sender_seed_and_line(folder):
    done = playpath_command("compare", "tiny.toml", "--cc", "cubic,mine:Late", "--seeds", "1", cwd=folder)
    assert done.status == 1
    assert (
        done.err.splitlines()[-1]
        == "error: Late, seed 1: mine.py:19, in on_report: ZeroDivisionError: float division by zero"
    )
    assert "Traceback" not in done.err
    with pytest.raises(
        RunError, match=r"cubic, seed 1: mine.py:29, in choose: ValueError: choose: representation 99"
    ) as found:
        playpath.run(ADAPTIVE.replace("ladder =", 'abr = "mine:TooHigh"\nladder ='), cc=["cubic"])
    assert isinstance(found.value.__cause__, ValueError)


@pytest.mark.slow
def test_in_a_sweep_an_error_in_own_code_is_its_cells(folder):
    result = playpath.sweep(
        {"scenario": TINY, "cc": ["cubic", "mine:Late"], "seeds": 1, "axis": _AXIS}, store="s", jobs=1
    )
    assert set(result.errors["sender"]) == {"Late"}
    assert set(result.errors["error"]) == {
        "Late, seed 1: mine.py:19, in on_report: ZeroDivisionError: float division by zero"
    }


def test_what_workers_cannot_import_is_refused_with_the_remedy(tmp_path):
    class Local:
        def on_report(self, report):
            return 20.0

    assert playpath.compare(TINY, cc=["cubic"], controllers={"local": Local}).senders == ["cubic", "local"]
    with pytest.raises(InputError, match="write it into a file"):
        playpath.population(TINY_POPULATION, store=tmp_path, controllers={"local": Local})


def test_the_kernel_refuses_it(folder):
    loaded = load(TINY, cc=["cubic", "mine:Mine"])
    with pytest.raises(InputError, match="'mine:Mine' is your own code: it plays in the world 'sim' only"):
        playpath.run(loaded, sender="cubic", world="kernel")

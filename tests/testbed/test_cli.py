"""The kernel world from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("nothing_left")


def playpath(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "playpath", *arguments], check=False, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def scenario(short_scenario: Callable[..., Path]) -> str:
    return str(short_scenario('"cubic"', '{ name = "ccplb", pob_rate = 2 }'))


def test_one_session_has_the_simulators_schema(scenario: str) -> None:
    records = {}
    for world in ("sim", "kernel"):
        done = playpath("run", scenario, "--sender", "cubic", "--seed", "1", "--world", world, "--json")
        assert done.returncode == 0, done.stderr
        records[world] = json.loads(done.stdout)
    assert records["kernel"].keys() == records["sim"].keys()
    # Names of metrics, and those of links; the kernel may know more than the simulator, never less.
    assert records["kernel"]["metrics"].keys() >= records["sim"]["metrics"].keys()
    names = {world: [link["name"] for link in record["links"]] for world, record in records.items()}
    assert names["kernel"] == names["sim"]
    assert records["kernel"]["manifest"].keys() >= records["sim"]["manifest"].keys()


def test_a_program_runs_behind_the_path_and_its_status_is_ours(scenario: str) -> None:
    shell = 'curl -s -r 0-99999 -o /dev/null -w "%{http_code} %{size_download}" $PLAYPATH_URL/zeros; exit 4'
    done = playpath("testbed", "exec", scenario, "--cc", "vegas", "--", "sh", "-c", shell)
    assert done.stdout == "206 100000", done.stderr
    assert done.returncode == 4


def test_what_the_kernel_world_lacks_is_wrong_input(scenario: str) -> None:
    done = playpath("testbed", "exec", scenario, "--cc", "cubicc", "--", "true")
    assert done.returncode == 2
    assert 'unknown congestion control "cubicc"; did you mean "cubic"? allowed: ' in done.stderr
    done = playpath("run", scenario, "--cc", "sammy", "--world", "kernel")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: sammy: neither Linux nor playpath's eBPF programs have this control; available: "
    )
    assert playpath("testbed", "exec", scenario, "--seed", "-1", "--", "true").returncode == 2


def test_a_program_behind_the_path_has_the_senders_settings_and_gets_what_run_gets(
    scenario: str, tmp_path: Path
) -> None:
    file = tmp_path / "odd.toml"
    settings = 'traffic = [{ kind = "bulk" }]\n' + Path(scenario).read_text().split("[[sender]]")[0]
    file.write_text(settings + '[[sender]]\ncc = "cubic"\nmss = 500\nlimited_transmit = false\n')
    segments = "ss -tinH state established | grep -o ' mss:[0-9]*'"
    shell = f"exec 3<>/dev/tcp/$PLAYPATH_SERVER/8080; sleep 0.3; ip netns exec $PLAYPATH_SERVER_NAMESPACE {segments}; kill -9 $$"
    done = playpath("testbed", "exec", str(file), "--", "bash", "-c", shell)
    assert " mss:500\n" in done.stdout, done
    assert done.returncode == 137
    assert "traffic bulk: does not run beside a program" in done.stderr
    assert "without effect: limited_transmit = false" in done.stderr
    file.write_text(
        settings.replace("[[path]]", '[[path]]\nmtu = "1000 B"\ntoo_big = "refused"') + '[[sender]]\ncc = "cubic"\n'
    )
    refused = playpath("testbed", "exec", str(file), "--", "true")
    assert refused.returncode == 2
    assert "`too_big` plays in the world 'sim' only" in refused.stderr


def test_nothing_to_clean_and_nothing_to_show() -> None:
    shown = json.loads(playpath("testbed", "show", "--json").stdout)
    assert all(run["is_alive"] for run in shown)  # somebody else's, if any
    assert "nothing was left behind" in playpath("testbed", "clean").stderr


def test_controls_are_listed_and_wrong_names_refused() -> None:
    listed = json.loads(playpath("cc", "list", "--json").stdout)
    assert {"ccplb", "newcwv", "olia"} <= {entry["name"] for entry in listed}
    wrong = playpath("cc", "load", "nope")
    assert wrong.returncode == 2
    assert 'unknown control "nope"' in wrong.stderr

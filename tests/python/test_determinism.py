"""Equal scenario and seeds give equal bytes, on any number of threads; results hold together."""

import json

import pytest
from conftest import SCENARIOS, SMALL, playpath_command

import playpath

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_shipped_scenarios_do_not_depend_on_jobs(file):
    """Their first seconds, in which whatever a scenario has is at work."""
    one, two = (playpath.compare(file, seeds=2, jobs=jobs, set={"run.duration": "20 s"}) for jobs in (1, 2))
    assert one.to_json() == two.to_json()
    assert one.digest == two.digest


def test_seeds_differ_and_repeat():
    first, again, other = (playpath.run(SMALL, sender="cubic", seed=seed) for seed in (1, 1, 2))
    assert first.digest == again.digest != other.digest


def test_more_seeds_do_not_change_the_first():
    few, many = playpath.compare(SMALL, seeds=2), playpath.compare(SMALL, seeds=4)
    assert few.values("cubic", "goodput_mbps") == many.values("cubic", "goodput_mbps")[:2]


def test_tracing_changes_nothing():
    plain = playpath.run(SMALL, sender="cubic")
    traced = playpath.run(SMALL, sender="cubic", trace=True)
    assert plain.metrics == traced.metrics
    assert plain.digest == traced.digest


def test_resolved_scenario_is_a_fixed_point():
    scenario = playpath.load(SMALL)
    again = playpath.load(json.loads(scenario.text))
    assert again.text == scenario.text


def test_time_zone_locale_and_order_of_senders_change_nothing(tmp_path):
    (tmp_path / "s.toml").write_text(SMALL)
    here = {"TZ": "Asia/Kathmandu", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}
    found = [
        playpath_command("compare", "s.toml", "--cc", order, "--seeds", 2, "--json", cwd=tmp_path, **there).json
        for order, there in (
            ("newreno,cubic", {"TZ": "UTC", "LC_ALL": "C"}),
            ("newreno,cubic", here),
            ("cubic,newreno", here),
        )
    ]
    assert found[0]["digest"] == found[1]["digest"]
    assert found[0]["verdict"] == found[1]["verdict"] == found[2]["verdict"]
    assert found[0]["ranking"] == found[2]["ranking"]
    of = [{sender["name"]: sender for sender in result["senders"]} for result in found]
    assert of[0] == of[2]

"""`playpath explore`, and its page: the engine for browsers gives the native digests, and the page works in a real browser.

What was not built (`make web`) or is not installed is skipped with the reason.
"""

import gzip
import http.client
import json
import os
import shutil
import subprocess
import threading
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from playpath import load
from playpath.base import engine
from playpath.base.errors import RunError
from playpath.cli import app
from playpath.show import explorer

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
STUB = '<html><script type="application/json" id="start">null</script></html>'

needs_engine = pytest.mark.skipif(
    shutil.which("node") is None or not (WEB / "engine/playpath_web.js").is_file(),
    reason="the engine for browsers was not built: make web",
)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or not explorer.PAGE.is_file() or not (WEB / "node_modules/playwright-core").is_dir(),
    reason="needs Chromium, and the page: make web",
)


@pytest.fixture
def page(monkeypatch, tmp_path):
    """A page that stands for the built one."""
    monkeypatch.setattr(explorer, "PAGE", tmp_path / "explorer.html")
    explorer.PAGE.write_text(STUB)


def get(port, path="/", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers={"Host": host or f"127.0.0.1:{port}"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), dict(answer.getheaders())


def test_the_server_answers_this_machine_for_the_page_alone(page):
    with explorer.PageServer(explorer.page()) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address, port = server.server_address[:2]
        assert address == "127.0.0.1"
        status, body, headers = get(port)
        assert (status, body) == (200, STUB)
        assert headers["Cache-Control"] == "no-store"
        assert get(port, "/../etc/passwd")[0] == 404
        assert get(port, host="evil.example")[0] == 403
        server.shutdown()


def test_the_page_opens_with_a_scenario_and_its_files(page):
    text = explorer.page("mobile")
    given = json.loads(text.split('id="start">')[1].split("</script>")[0])
    assert given["name"] == "mobile"
    assert given["text"] == (ROOT / "scenarios/mobile.toml").read_text()
    assert given["files"] == {"traces/lte-like.mahi": (ROOT / "scenarios/traces/lte-like.mahi").read_text()}


def test_a_hostile_scenario_does_not_leave_its_place(page, tmp_path):
    scenario = tmp_path / "x.toml"
    shipped = (ROOT / "scenarios/wireless.toml").read_text()
    hostile = shipped.replace('name = "wireless"', 'name = "</script><script>alert(1)</script>"', 1)
    assert hostile != shipped
    scenario.write_text(hostile)
    text = explorer.page(scenario)
    assert text.count("</script>") == STUB.count("</script>")


def test_a_page_that_was_not_built_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(explorer, "PAGE", tmp_path / "nothing.html")
    with pytest.raises(RunError, match="make web"):
        explorer.page()


def test_the_page_can_be_written_to_a_file(page, tmp_path):
    done = CliRunner().invoke(app, ["explore", "wireless", "--out", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    assert '"name": "wireless"' in (tmp_path / "page.html").read_text()


@needs_engine
def test_every_shipped_scenario_has_the_native_digests():
    seconds = 15
    asked = []
    for path in SCENARIOS:
        text = path.read_text()
        files = {
            name: (path.parent / name).read_text() for p in tomllib.loads(text)["path"] if (name := p.get("trace"))
        }
        asked.append({"name": path.stem, "text": text, "files": files})
    done = subprocess.run(
        ["node", WEB / "digests.mjs", str(seconds)], input=json.dumps(asked), text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    native = []
    for path in SCENARIOS:
        scenario = load(path, set={"run.duration": f"{seconds} s"})
        for sender in scenario.resolved["sender"]:
            record, _ = engine.run(scenario.text, sender["name"], 1, trace=False)
            native.append(f"{path.stem} {sender['name']} 1 {record['digest']}")
    assert done.stdout.splitlines() == native


@needs_engine
def test_the_page_is_built_of_today_s_sources(tmp_path):
    """The engine in it is today's by the test above."""
    if not explorer.PAGE.is_file():
        pytest.skip("the page was not built: make web")
    subprocess.run(["node", "build.mjs", "explorer", tmp_path / "page.html"], cwd=WEB, check=True, capture_output=True)
    built = (tmp_path / "page.html").read_text()
    assert explorer.PAGE.read_text() == built, "make web builds the page anew"
    assert len(gzip.compress(built.encode())) < 2_000_000


@needs_browser
@pytest.mark.slow
@pytest.mark.long
def test_every_shipped_scenario_in_full_has_the_native_digest_in_a_real_browser():
    asked = []
    for path in SCENARIOS:
        # The scenario is part of a digest: the page plays one sender and one seed of it.
        written = tomllib.loads(path.read_text()).get("sender", [{"cc": "cubic"}])
        scenario = load(path, set={"sender": written[:1], "run.seeds": 1})
        (sender,) = (entry["name"] for entry in scenario.resolved["sender"])
        record, _ = engine.run(scenario.text, sender, scenario.seeds[0], trace=False)
        asked.append({"scenario": path.stem, "sender": sender, "digest": record["digest"]})
    environment = os.environ | {"PLAYPATH_CHROMIUM": str(CHROMIUM), "PLAYPATH_FULL": json.dumps(asked)}
    done = subprocess.run(
        ["node", "--test", "browser/digests.test.mjs"], cwd=WEB, env=environment, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("# SKIP") == 0


@needs_browser
@pytest.mark.slow
def test_the_page_works_in_a_real_browser():
    scenario = load("short-buffer", cc="cubic, bbr", seeds=2, set={"video.duration": "12 s"})
    digests = [f"{name}={engine.run(scenario.text, name, 1, trace=False)[0]['digest']}" for name in ("cubic", "bbr")]
    environment = os.environ | {"PLAYPATH_CHROMIUM": str(CHROMIUM), "PLAYPATH_DIGESTS": " ".join(digests)}
    done = subprocess.run(["node", "--test", "browser/"], cwd=WEB, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr

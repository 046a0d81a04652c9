"""`playpath serve --transport quic` with clients that others wrote, over loopback: ngtcp2's, and Chromium."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import json
import re
import select
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from playpath.real.testbed import media, wire
from playpath.real.testbed.errors import MissingToolError

BYTES = bytes(range(256)) * 40_000
"""10 MB."""
PAGE = """<body><script>
fetch("/film.bin").then((answer) => answer.arrayBuffer()).then(async (bytes) => {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const [entry] = performance.getEntriesByType("resource");
  document.body.textContent = JSON.stringify({
    sha256: Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join(""),
    version: entry.nextHopProtocol,
  });
});
</script></body>"""
PORT = "47433"


@contextlib.contextmanager
def serving(folder: Path, *options: str) -> Iterator[dict[str, str]]:
    """What the server said of itself."""
    try:
        program = wire.program()
    except MissingToolError as error:
        pytest.skip(str(error))
    command = [program, str(folder), "--transport", "quic", "--address", "127.0.0.1", "--port", PORT, *options]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(timeout=10) == 0


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "film.bin").write_bytes(BYTES)
    (folder / "index.html").write_text(PAGE)
    return folder


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is missing (bpf/setup.sh)")


@pytest.mark.parametrize("cc", ["cubic", "bbr3", "copa"])
def test_ngtcp2_gets_every_byte(site: Path, tmp_path: Path, cc: str) -> None:
    needs("gtlsclient")
    got = tmp_path / "got"
    got.mkdir()
    log = tmp_path / "access.jsonl"
    with serving(site, "--cc", cc, "--access-log", str(log)):
        urls = [f"https://localhost:{PORT}/{name}" for name in ("film.bin", "index.html")]
        command = ["gtlsclient", "-q", "--exit-on-all-streams-close", f"--download={got}", "127.0.0.1", PORT, *urls]
        subprocess.run(command, check=True, timeout=60, capture_output=True)
    assert (got / "film.bin").read_bytes() == BYTES
    assert (got / "index.html").read_text() == PAGE
    answers = [json.loads(line) for line in log.read_text().splitlines()]
    assert {(answer["request"], answer["status"], answer["bytes"]) for answer in answers} >= {
        ("GET /film.bin HTTP/3", 200, len(BYTES))
    }


CHACHA20 = "--ciphers=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+CHACHA20-POLY1305"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "server", "client"),
    [
        ("chacha20", (), (CHACHA20,)),
        ("retry", ("--retry",), ()),
        ("key update", (), ("--key-update=30ms",)),
        ("version negotiation", (), ("--version=0x1a2a3a4a", "--preferred-versions=v1")),
        ("loss", (), ("--tx-loss=0.03", "--rx-loss=0.03")),
        ("multiplexing", (), ("--nstreams=120",)),
        ("another address", (), ("--change-local-addr=10ms",)),
    ],
)
def test_cases_of_the_interop_runner_with_ngtcp2(
    site: Path, tmp_path: Path, case: str, server: tuple[str, ...], client: tuple[str, ...]
) -> None:
    """Its functional cases, as far as gtlsclient has a switch for them; the others are in crates/quic-peers/tests/http3.rs."""
    needs("gtlsclient")
    got, log = tmp_path / "got", tmp_path / "access.jsonl"
    got.mkdir()
    name = "index.html" if case == "multiplexing" else "film.bin"
    with serving(site, "--access-log", str(log), *server):
        url = f"https://localhost:{PORT}/{name}"
        command = ["gtlsclient", "--no-quic-dump", "--no-http-dump", "--exit-on-all-streams-close", f"--download={got}"]
        done = subprocess.run(
            [*command, *client, "127.0.0.1", PORT, url], check=True, timeout=60, capture_output=True, text=True
        )
    assert (got / name).read_bytes() == (site / name).read_bytes()
    answers = [json.loads(line) for line in log.read_text().splitlines()]
    assert [answer["status"] for answer in answers] == [200] * (120 if case == "multiplexing" else 1)
    # What ngtcp2 says that it saw; a case that did not happen is no case.
    seen = {
        "chacha20": "CHACHA20-POLY1305",
        "retry": "type=Retry",
        "key update": "Initiate key update",
        "version negotiation": "type=VN",
        "loss": "Simulated incoming packet loss",
        "another address": "1RTT RETIRE_CONNECTION_ID",
    }
    assert seen.get(case, "") in done.stdout + done.stderr, (done.stdout + done.stderr)[-3000:]


@contextlib.contextmanager
def rebinding(port: int) -> Iterator[tuple[int, list[socket.socket]]]:
    """A NAT before the server: its port, and its outer sockets. Every tenth datagram from the client leaves by a new one; what comes
    back reaches the client by any.
    """
    inner = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inner.bind(("127.0.0.1", 0))
    outer: list[socket.socket] = []
    is_over = threading.Event()

    def relay() -> None:
        client, count = None, 0
        while not is_over.is_set():
            for ready in select.select([inner, *outer], [], [], 0.1)[0]:
                if ready is not inner:
                    inner.sendto(ready.recv(65535), client)
                    continue
                datagram, client = inner.recvfrom(65535)
                if count % 10 == 0:
                    outer.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                count += 1
                outer[-1].sendto(datagram, ("127.0.0.1", port))

    thread = threading.Thread(target=relay)
    thread.start()
    try:
        yield inner.getsockname()[1], outer
    finally:
        is_over.set()
        thread.join()
        for one in (inner, *outer):
            one.close()


@pytest.mark.slow
def test_a_nat_gives_the_client_other_ports(site: Path, tmp_path: Path) -> None:
    """More ports than a session keeps, which once stood still at the seventeenth. gtlsclient's own `--nat-rebinding` never ends a
    download, not even from ngtcp2's server: it takes nothing from its old port.
    """
    needs("gtlsclient")
    got = tmp_path / "got"
    got.mkdir()
    command = ["gtlsclient", "-q", "--exit-on-all-streams-close", f"--download={got}", "127.0.0.1"]
    with serving(site), rebinding(int(PORT)) as (port, outer):
        url = f"https://localhost:{PORT}/film.bin"
        subprocess.run([*command, str(port), url], check=True, timeout=60, capture_output=True)
        assert len(outer) > 17
    assert (got / "film.bin").read_bytes() == BYTES


def test_a_session_is_resumed(site: Path, tmp_path: Path) -> None:
    needs("gtlsclient")
    session = tmp_path / "session"
    command = [
        "gtlsclient",
        "--no-quic-dump",
        "--no-http-dump",
        "--exit-on-all-streams-close",
        f"--session-file={session}",
        "--disable-early-data",  # without the parameters of that session it cannot, tries, and ends by SIGSEGV
    ]
    with serving(site):
        command += ["127.0.0.1", PORT, f"https://localhost:{PORT}/index.html"]
        first, second = (
            subprocess.run(command, check=True, timeout=60, capture_output=True, text=True) for _ in range(2)
        )
    assert session.stat().st_size > 0
    # A resumed handshake carries no certificate: the server's handshake bytes shrink by its size.
    assert handshake_bytes(second.stderr) < handshake_bytes(first.stderr) - 200


def test_a_returning_client_is_answered_before_the_handshake_ends(site: Path, tmp_path: Path) -> None:
    needs("gtlsclient")
    files = (f"--session-file={tmp_path / 'session'}", f"--tp-file={tmp_path / 'parameters'}")
    command = ["gtlsclient", "--no-quic-dump", "--no-http-dump", "--exit-on-all-streams-close", *files]
    log = tmp_path / "access.jsonl"
    with serving(site, "--access-log", str(log)):
        command += ["127.0.0.1", PORT, f"https://localhost:{PORT}/index.html"]
        first, second = (
            subprocess.run(command, check=True, timeout=60, capture_output=True, text=True) for _ in range(2)
        )
    assert "0RTT STREAM" not in first.stderr
    # The request left once, in a 0-RTT packet, and was not lost with it.
    asked = re.findall(r"frm tx \d+ (\w+) STREAM\(\S+\) id=0x0 ", second.stderr)
    assert asked == ["0RTT"], second.stderr[-3000:]
    assert [json.loads(line)["status"] for line in log.read_text().splitlines()] == [200, 200]


def handshake_bytes(log: str) -> int:
    """Bytes of CRYPTO frames that came in Initial and Handshake packets."""
    frames = re.findall(r"frm rx \d+ (?:Initial|Handshake) CRYPTO\(0x06\) offset=\d+ len=(\d+)", log)
    return sum(map(int, frames))


@pytest.mark.slow
def test_chromium_speaks_http3(site: Path, tmp_path: Path) -> None:
    needs("chromium")
    with serving(site) as said:
        flags = re.findall(r"--(?:host|origin|ignore)\S+?=(?:'[^']*'|\S+)", said["chromium"])
        assert len(flags) == 3
        command = [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--virtual-time-budget=20000",
        ]
        command += [f"--user-data-dir={tmp_path / 'profile'}", *(flag.replace("'", "") for flag in flags)]
        done = subprocess.run(
            [*command, "--dump-dom", said["url"]], capture_output=True, text=True, timeout=90, check=True
        )
    loaded = json.loads(html.unescape(re.search(r"\{.*\}", done.stdout.replace(PAGE, ""))[0]))  # type: ignore[index]
    assert loaded == {"sha256": hashlib.sha256(BYTES).hexdigest(), "version": "h3"}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--tun", "a"), "--tun: QUIC needs no device"),
        (("--key", "nowhere.pem", "--certificate", "nowhere.pem"), "nowhere.pem"),
        (("--qlog", __file__), "not a folder; the logs go into one"),
        (("--name", ""), "a host's name or IPv4 address"),
        (("--name", "a b"), "a host's name or IPv4 address"),
        (("--name", "a'b"), "a host's name or IPv4 address"),
        (("--name", "::1"), "a host's name or IPv4 address"),
        (("--address", "192.0.2.1"), "--address 192.0.2.1: not an address of this machine"),
        (("--mtu", "1247"), "--mtu 1247: QUIC needs 1248 or more"),
        (("--playout-buffer", "1 MB", "--video-rate", "0 bit/s"), "more than zero"),
        (("--cc", "copa(delta=11)"), "`delta` = 11 is out of range; allowed: 0.004 to 10"),
    ],
)
def test_bad_input_is_one_line(site: Path, options: tuple[str, ...], line: str) -> None:
    refused(site, options, line)


@pytest.mark.parametrize(
    ("make", "form"),
    [
        ("genrsa -traditional 2048", "BEGIN RSA PRIVATE KEY"),
        ("ecparam -genkey -noout -name prime256v1", "BEGIN EC PRIVATE KEY"),
        ("genpkey -algorithm ed25519", "BEGIN PRIVATE KEY"),
    ],
    ids=["PKCS #1", "SEC 1", "PKCS #8"],
)
def test_a_key_in_any_form_of_openssl(site: Path, tmp_path: Path, make: str, form: str) -> None:
    needs("openssl")
    key, chain = tmp_path / "key.pem", tmp_path / "chain.pem"
    key.write_bytes(subprocess.run(["openssl", *make.split()], check=True, capture_output=True).stdout)
    assert form in key.read_text()
    sign = ["openssl", "req", "-x509", "-new", "-key", str(key), "-subj", "/CN=h3.test", "-out", str(chain)]
    subprocess.run(sign, check=True, capture_output=True)
    ask = ["openssl", "pkey", "-in", str(key), "-pubout", "-outform", "DER"]
    public = subprocess.run(ask, check=True, capture_output=True).stdout
    with serving(site, "--certificate", str(chain), "--key", str(key)) as said:
        assert said["spki"] == base64.b64encode(hashlib.sha256(public).digest()).decode()
    refused(site, ("--certificate", str(chain), "--key", str(chain)), "no private key in PEM form")


def test_the_demo_needs_ffmpeg_and_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLAYPATH_CACHE", str(tmp_path))
    monkeypatch.setattr(media, "clip", lambda: pytest.fail("the demo film is not made of the clip"))
    monkeypatch.setattr(media, "_ffmpeg", lambda *words: None)
    monkeypatch.setattr(media, "_ffmpeg_version", lambda: "a version")
    assert "Playing over" in (media.demo() / "index.html").read_text()
    monkeypatch.undo()
    media._ffmpeg_version.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYPATH_CACHE", str(tmp_path / "fresh"))
    with pytest.raises(MissingToolError, match="ffmpeg is missing, which makes the media; apt install ffmpeg"):
        media.demo()
    assert not (tmp_path / "fresh").exists()


def test_a_clip_that_does_not_come_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def silent(command: list[str], **options: object) -> None:
        raise subprocess.TimeoutExpired(command, 120)

    monkeypatch.setattr(subprocess, "run", silent)
    with pytest.raises(MissingToolError, match="name a file with PLAYPATH_CLIP=FILE"):
        media._fetch_clip(tmp_path / "clip" / "film.mp4")


def refused(site: Path, options: tuple[str, ...], line: str) -> None:
    try:
        program = wire.program()
    except MissingToolError as error:
        pytest.skip(str(error))
    command = [program, str(site), "--transport", "quic", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert line in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1

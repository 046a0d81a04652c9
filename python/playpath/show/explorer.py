"""The explorer, a page that plays scenarios in a browser: finds the page, inserts a scenario, and serves it to this machine.

The page is built by `make web` and comes with the wheel. It is self-contained and loads nothing.
"""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playpath.base.errors import RunError
from playpath.base.files import read_text
from playpath.scenario import load, shipped

PAGE = Path(__file__).parents[1] / "web" / "explorer.html"
_PLACE = '<script type="application/json" id="start">null</script>'
_LARGEST_FILE = 4_000_000


def page(source: str | Path | None = None) -> str:
    """The page as text; with `source` it opens with that scenario (a file, or the name of a shipped one)."""
    if not PAGE.is_file():
        raise RunError(
            "this installation has no explorer page; build it in a few minutes with `make web` in the source folder "
            "(it needs Node 20 and `rustup target add wasm32-unknown-unknown`)"
        )
    text = PAGE.read_text(encoding="utf-8")
    if source is None:
        return text
    # "<" could end the script block that contains the text.
    given = json.dumps(_start(source), ensure_ascii=False).replace("<", "\\u003c")
    return text.replace(_PLACE, _PLACE.replace("null", given))


def _start(source: str | Path) -> dict[str, object]:
    """Name, text and files of a scenario, checked as by any command."""
    name = load(source).name
    path = shipped.find(source)
    text = read_text(path, remedy="give the path of a scenario file (TOML or JSON)")
    return {"name": name, "text": text, "files": _files(shipped.document(text), path.parent)}


def _files(document: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Every text in the document that is the name of a file in its folder."""
    found = {}
    for word in _texts(document):
        path = folder / word
        if "\n" not in word and len(word) < 256 and path.is_file() and path.stat().st_size <= _LARGEST_FILE:
            found[word] = path.read_text(encoding="utf-8", errors="replace")
    return found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


class PageServer(ThreadingHTTPServer):
    """A server of one page on 127.0.0.1; port 0 picks a free one. The caller runs and closes it."""

    daemon_threads = True

    def __init__(self, text: str, port: int = 0) -> None:
        self.page = text.encode()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise RunError(f"--port {port}: {error.strerror or error}") from None


class _Handler(BaseHTTPRequestHandler):
    """Serves only the page, and only to requests that address this machine by its own name."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version = "playpath"

    def do_GET(self) -> None:
        port = self.server.server_port
        # A foreign page whose name was rebound to this address (DNS rebinding) sends another Host.
        if self.headers.get("Host") not in {f"127.0.0.1:{port}", f"localhost:{port}"}:
            self._answer(HTTPStatus.FORBIDDEN, b"", "text/plain")
        elif self.path.split("?")[0] != "/":
            self._answer(HTTPStatus.NOT_FOUND, b"", "text/plain")
        else:
            self._answer(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """No access log: the page has a single reader."""

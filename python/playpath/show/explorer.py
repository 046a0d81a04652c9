"""The explorer: one page that plays scenarios in a browser. Where it is, what is put into it, and a server for this machine alone.

The page is built by `make web` and comes with the wheel. It loads nothing from anywhere: a copy of the file is all there is to it.
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
            "this installation has no explorer page; `make web` in the source folder builds it in a few minutes "
            "(it needs Node 20 and `rustup target add wasm32-unknown-unknown`)"
        )
    text = PAGE.read_text(encoding="utf-8")
    if source is None:
        return text
    # "<" could end the block that the text stands in.
    given = json.dumps(_start(source), ensure_ascii=False).replace("<", "\\u003c")
    return text.replace(_PLACE, _PLACE.replace("null", given))


def _start(source: str | Path) -> dict[str, object]:
    """Name, text, and the files that the scenario names; checked as any command would."""
    name = load(source).name
    path = shipped.find(source)
    text = read_text(path, remedy="give the path of a scenario file (TOML or JSON)")
    return {"name": name, "text": text, "files": _files(shipped.document(text), path.parent)}


def _files(document: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Every text of the document that is the name of a file beside it."""
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
    """A server of one page at 127.0.0.1; port 0 takes a free one. The caller runs and closes it."""

    daemon_threads = True

    def __init__(self, text: str, port: int = 0) -> None:
        self.page = text.encode()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise RunError(f"--port {port}: {error.strerror or error}") from None


class _Handler(BaseHTTPRequestHandler):
    """Answers for the page alone, and only to who asks for this machine by its own name."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version = "playpath"

    def do_GET(self) -> None:
        port = self.server.server_port
        # A page from elsewhere whose name has been turned to this address has another Host (DNS rebinding).
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
        """Nothing: a page of one reader needs no log."""

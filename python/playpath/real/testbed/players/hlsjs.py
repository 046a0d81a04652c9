"""hls.js in Chromium without a window, with CMCD in the query: playlists and fragments of the same ladder that `dashjs` plays.

As `dashjs`, but for the page (`hlsjs.html`). It reports nothing beside its requests and reads no server data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playpath.real.testbed import media
from playpath.real.testbed.players.dashjs import DashJs
from playpath.real.testbed.players.library import Library

if TYPE_CHECKING:
    from playpath.real.testbed.players.scene import Scene
    from playpath.scenario import resolved


class HlsJs(DashJs):
    """Runs Chromium as the user nobody."""

    name = "hlsjs"
    reads_server_data = False
    library = Library(
        title="hls.js",
        package="hls.js",
        version="1.7.4",
        member="package/dist/hls.min.js",
        sha256="cfc70cc9e9fc63d071919e087670abc760c8fd1bc889b88588026e4d22193bbe",
        variable="PLAYPATH_HLSJS",
    )
    manifest = media.PLAYLIST

    def _check_told(self, scenario: resolved.Document) -> None:
        pass

    def _settings(self, scene: Scene) -> dict[str, Any]:
        return {}

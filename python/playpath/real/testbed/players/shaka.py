"""Shaka Player in headless Chromium, with CMCD in the query: the ladder and the manifest that `dashjs` plays.

It differs from the other players in Chromium only in its page (`shaka.html`). It sends no separate reports and reads no server data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playpath.base.engine import number
from playpath.real.testbed.players.chromium import InChromium
from playpath.real.testbed.players.library import Library

if TYPE_CHECKING:
    from playpath.real.testbed.players.scene import Scene


class Shaka(InChromium):
    """Runs Chromium as the user nobody."""

    name = "shaka"
    library = Library(
        title="Shaka Player",
        package="shaka-player",
        version="5.2.12",
        member="package/dist/shaka-player.dash.js",
        sha256="425228cf35605b471a8270e778281fd9c0f0826e4bab4531f6c004267bb55ebc",
        variable="PLAYPATH_SHAKA",
    )

    def settings(self, scene: Scene) -> dict[str, Any]:
        """The length of a segment, which its events do not include."""
        return {"segment_s": number((scene.scenario.get("player") or {})["segment"])}

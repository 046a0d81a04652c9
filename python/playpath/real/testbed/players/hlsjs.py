"""hls.js in headless Chromium, with CMCD in the query: playlists and fragments of the same ladder that `dashjs` plays.

It differs from the other players in Chromium only in its page (`hlsjs.html`). It sends no separate reports and reads no server data.
"""

from playpath.real.testbed import media
from playpath.real.testbed.players.chromium import InChromium
from playpath.real.testbed.players.library import Library


class HlsJs(InChromium):
    """Runs Chromium as the user nobody."""

    name = "hlsjs"
    library = Library(
        title="hls.js",
        package="hls.js",
        version="1.7.4",
        member="package/dist/hls.min.js",
        sha256="cfc70cc9e9fc63d071919e087670abc760c8fd1bc889b88588026e4d22193bbe",
        variable="PLAYPATH_HLSJS",
    )
    manifest = media.PLAYLIST

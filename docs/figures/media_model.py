#!/usr/bin/env python3
"""Draw docs/figures/media_model.png: the media model's picture sizes and burstiness beside the committed clip's.

Usage: python3 docs/figures/media_model.py    (needs cargo, and playpath installed)

The clip is 5.28 s long, and everything that is estimated from so short a sample scatters. So the model is shown as what 200
seeds of the same length give: a fair comparison asks whether the clip could be one of them.
"""

import pathlib
import subprocess

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from playpath.plots.style import COLOURS

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
SEEDS = 200
MODEL_COLOUR, CLIP_COLOUR = COLOURS[:2]


def frame_table(*arguments):
    """Sizes in bytes and times in s of the video pictures that the example prints, in file order."""
    command = ["cargo", "run", "-q", "--release", "-p", "playpath-video", "--example", "frame_table", "--", *arguments]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    rows = [line.split(",") for line in text.splitlines() if line[:2] in ("I,", "P,", "B,")]
    return np.array([int(r[1]) for r in rows]), np.array([int(r[2]) / 1e9 for r in rows])


def dispersion(sizes, windows):
    """Index of dispersion of the bytes in windows of so many pictures, in kB: variance / mean over all placements."""
    sums = np.concatenate([[0], np.cumsum(sizes)])
    counts = [sums[w:] - sums[:-w] for w in windows]
    return np.array([c.var() / c.mean() / 1e3 for c in counts])


def autocorrelation(sizes, lags):
    logs = np.log(sizes) - np.log(sizes).mean()
    return np.array([(logs[: len(logs) - lag] * logs[lag:]).sum() / (logs * logs).sum() for lag in lags])


def band(axes, x, values, label):
    low, middle, high = np.percentile(values, [5, 50, 95], axis=0)
    axes.fill_between(x, low, high, color=MODEL_COLOUR, alpha=0.2, lw=0, label=f"model, 5 % to 95 % of {SEEDS} seeds")
    axes.plot(x, middle, color=MODEL_COLOUR, lw=1.5, label=label)


def main():
    clip, times = frame_table("clip")
    rate = clip.sum() * 8 / 5.28

    def draw(seed, length):
        return frame_table("model", f"{rate:.0f} bit/s", length, "25", str(seed))[0]

    models = [draw(seed, "5.28 s") for seed in range(1, SEEDS + 1)]
    # Single pictures up to half the clip; without the key picture, whose place is the same in all of them.
    windows = np.unique(np.geomspace(1, 66, 24).astype(int))
    lags = np.arange(0, 25)

    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 110})
    figure, ((sizes, spread), (correlation, burst)) = plt.subplots(2, 2, figsize=(9.5, 6.6), layout="constrained")

    sizes.plot(times, clip / 1e3, color=CLIP_COLOUR, lw=1.2, label="clip")
    sizes.plot(times, models[0] / 1e3, color=MODEL_COLOUR, lw=1.2, label="model, seed 1")
    sizes.set(yscale="log", xlabel="time (s)", ylabel="picture size (kB)", title="Picture sizes, both 1.21 Mbit/s")
    sizes.legend(frameon=False)

    quantiles = np.linspace(0, 100, 131)
    spread.plot(np.percentile(clip[1:], quantiles) / 1e3, quantiles, color=CLIP_COLOUR, lw=1.8, label="clip")
    levels = np.percentile([np.percentile(m[1:], quantiles) for m in models], [5, 50, 95], axis=0) / 1e3
    spread.fill_betweenx(quantiles, levels[0], levels[2], color=MODEL_COLOUR, alpha=0.2, lw=0)
    spread.plot(levels[1], quantiles, color=MODEL_COLOUR, lw=1.5, label="model")
    spread.set(
        xscale="log", xlabel="size of P pictures (kB)", ylabel="share at most so large (%)", title="Distribution"
    )
    spread.legend(frameon=False)

    correlation.plot(lags * 40, autocorrelation(clip[1:], lags), color=CLIP_COLOUR, lw=1.8, label="clip")
    band(correlation, lags * 40, [autocorrelation(m[1:], lags) for m in models], "model, median")
    correlation.axhline(0, color="0.7", lw=0.8)
    correlation.set(xlabel="distance (ms)", ylabel="correlation of log sizes", title="Autocorrelation of P pictures")
    correlation.legend(frameon=False)

    burst.plot(windows * 0.04, dispersion(clip[1:], windows), color=CLIP_COLOUR, lw=1.8, label="clip")
    band(burst, windows * 0.04, [dispersion(m[1:], windows) for m in models], "model, median")
    long_windows = np.unique(np.geomspace(1, 250, 40).astype(int))
    long = [dispersion(draw(seed, "624 s"), long_windows) for seed in range(1, 6)]
    burst.plot(
        long_windows * 0.04,
        np.mean(long, axis=0),
        color=MODEL_COLOUR,
        ls="--",
        lw=1.2,
        label="model, 624 s with key pictures",
    )
    looped = dispersion(np.tile(clip, 118), long_windows)
    burst.plot(long_windows * 0.04, looped, color=CLIP_COLOUR, ls="--", lw=1.2, label="clip looped to 624 s")
    burst.set(
        xscale="log",
        yscale="log",
        ylim=(0.08, 60),
        xlabel="window (s)",
        ylabel="variance / mean of bytes (kB)",
        title="Burstiness: index of dispersion",
    )
    burst.legend(frameon=False, fontsize=8, loc="lower left")

    figure.savefig(HERE / "media_model.png", metadata={"Software": None})

    def inside(f):
        drawn = np.array([f(m[1:]) for m in models]).T
        return np.mean(
            [np.percentile(v, 5) <= c <= np.percentile(v, 95) for c, v in zip(f(clip[1:]), drawn, strict=True)]
        )

    print(f"rate: clip {rate:.0f} bit/s, model {models[0].sum() * 8 / 5.28:.0f} bit/s")
    print(
        f"share of windows in which the clip's dispersion lies within the model's band: {inside(lambda s: dispersion(s, windows)):.2f}"
    )
    print(f"share of distances for the autocorrelation: {inside(lambda s: autocorrelation(s, lags[1:])):.2f}")


if __name__ == "__main__":
    main()

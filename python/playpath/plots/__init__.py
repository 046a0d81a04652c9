"""Figures for papers and notebooks. Figures of a session, of its paths and of paired differences are in its report, which can
save each as SVG and PNG.

Every function takes an optional `ax` (or `axes`), draws on it and returns it.

Colours are safe for colour-blind readers, and nothing depends on colour alone: senders also differ in marker and hatch.
Axes have units; means are shown with the 95 % intervals of their medians.
"""

from playpath.plots.bars import metric_bars, metric_dots
from playpath.plots.distributions import box, cdf, ecdf_difference
from playpath.plots.style import INK, SenderStyle, figure, sender_styles

__all__ = [
    "INK",
    "SenderStyle",
    "box",
    "cdf",
    "ecdf_difference",
    "figure",
    "metric_bars",
    "metric_dots",
    "sender_styles",
]

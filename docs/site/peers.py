"""Draws Kyoho beside other codes: python docs/site/peers.py docs/peers.svg (needs matplotlib).

The measurement is that of docs/benchmarks.md, part "Against other codes", which has most figures.
"""

import sys

import matplotlib
from matplotlib import pyplot

SINKS = [1, 16, 256, 1024, 16384]
# Microseconds of a block step, order 4 mixed, 131072 sources.
BLOCKS = {
    "Sapporo2": [123, 192, 260, 779, 11312],
    "Kyoho, the same old calls": [21.0, 33.6, 101, 314, 4057],
    "Kyoho, its own calls": [20.4, 30.2, 90, 288],
}
BODIES = ["16384", "131072", "524288"]
# 10^9 pairs a second.
SPEEDS = {
    "Sapporo2": [33, 247, 419],
    "Kyoho, the same old calls": [409, 684, 724],
    "Kyoho, its own calls": [456, 719, 742],
}
# Median errors of accelerations and milliseconds, a tree of 1048576 bodies.
TREES = {
    "Bonsai (H200)": ([5.4e-4, 1.1e-4], [5.9, 10.9], "C4s--"),
    "Ryoanji": ([1.2e-4], [12.7], "C5D"),
    "Kyoho, arrays of the host": ([1.5e-3, 2.8e-4, 2.8e-5], [4.9, 5.3, 7.3], "C2o-"),
    "Kyoho, arrays on the GPU": ([1.5e-3, 2.8e-4, 2.8e-5], [1.84, 2.12, 3.80], "C0o-"),
}
COLOURS = {"Sapporo2": "0.55", "Kyoho, the same old calls": "C2", "Kyoho, its own calls": "C0"}


def main():
    matplotlib.rcParams.update({"svg.hashsalt": "kyoho", "svg.fonttype": "none", "font.size": 9})
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(10.5, 3.3), layout="constrained")

    for name, times in BLOCKS.items():
        left.loglog(SINKS[: len(times)], times, "o-", color=COLOURS[name], label=name)
    left.set_ylim(10, 40000)
    left.set(title="block step, 131072 bodies", xlabel="bodies that move", ylabel="microseconds (less is better)")
    left.legend(frameon=False, fontsize=8)

    for place, (name, speeds) in enumerate(SPEEDS.items()):
        places = [number + 0.27 * (place - 1) for number in range(len(BODIES))]
        middle.bar(places, speeds, 0.25, color=COLOURS[name], label=name)
    middle.set_xticks(range(len(BODIES)), BODIES)
    middle.set(title="forces on all bodies", xlabel="bodies", ylabel="billion pairs a second")
    middle.set_ylim(0, 980)
    middle.legend(frameon=False, fontsize=8, loc="upper left")

    for name, (errors, times, style) in TREES.items():
        right.loglog(errors, times, style, label=name)
    right.set(title="tree of 1048576 bodies", xlabel="median error of accelerations", ylabel="milliseconds")
    right.set_ylim(1.2, 60)
    right.legend(frameon=False, fontsize=8)
    left.set_xticks([1, 10, 100, 1000, 10000])
    left.set_yticks([10, 100, 1000, 10000])
    right.set_xticks([1e-4, 1e-3], ["1e-4", "1e-3"])
    right.set_yticks([2, 5, 10, 20, 50])
    for axis in (left.xaxis, left.yaxis, right.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
    right.xaxis.set_minor_formatter("")
    for axes in (left, middle, right):
        axes.spines[["top", "right"]].set_visible(False)
    title = "One NVIDIA H100, 2026-11-26: Kyoho and other codes, Hermite order 4 in mixed precision; trees"
    figure.suptitle(title, fontsize=9)
    figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()

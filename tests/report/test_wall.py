"""The wall of many attractors."""

import numpy as np

from crug.report.wall import wall
from crug.tasks.base import Picture


def circle(width: int, name: str, noisy: bool = False) -> Picture:
    t = np.arange(2_000) * 0.1
    x = np.stack([np.sin(t + k) for k in range(width)], axis=1)
    parts = {"truth": x, "network": 0.9 * x} | ({"noisy": 1.1 * x} if noisy else {})
    return Picture("portrait", name, parts)


def test_each_recording_stands_beside_its_network_in_one_frame():
    figure = wall([circle(1, "one"), circle(3, "three"), circle(6, "six", noisy=True)], "3 systems")
    assert len(figure.axes) == 6
    assert [ax.get_title(loc="left") for ax in figure.axes[::2]] == ["one", "three", "six"]
    for left, right in zip(figure.axes[::2], figure.axes[1::2], strict=True):
        assert (left.get_xlim(), left.get_ylim()) == (right.get_xlim(), right.get_ylim())
    sizes = [np.ptp(ax.lines[0].get_xdata()) for ax in figure.axes]
    assert sizes[3] < sizes[2]
    assert sizes[5] > sizes[4]  # the rollout under noise is shown where there is one
    assert figure.texts[-1].get_text() == "3 systems"

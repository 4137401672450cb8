"""The shape of a recording: its ends cut off, fewer samples, delayed copies of its columns; and how long its memory is.

Delayed copies make up for variables that were not measured: what a system will do depends on its whole state, and the
past of one variable tells about the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.signal import decimate as anti_aliased

from crug.errors import CrugError
from crug.readers.columns import Recording, magnitude

SHORTEST = 50
"""Samples that a single trajectory needs."""
BEYOND = 20
"""Decimated samples by which a recording is continued at both ends while it is filtered."""


def shaped(recording: Recording, cut: int = 0, decimate: int = 1, lags: Sequence[int] | None = None) -> Recording:
    """Cut a recording, decimate it, and add delayed copies of its columns, in this order.

    Parameters
    ----------
    recording : Recording
        What was recorded. It is not changed.
    cut : int
        How many samples to cut from both ends.
    decimate : int
        Keep one sample of so many, behind an anti-alias filter.
    lags : list of int, optional
        The delays of the copies, in samples after decimation, from 1. A copy of the column x that is 20 samples late
        is called x-20.

    Returns
    -------
    Recording
        It begins with the first sample of which all copies exist. Inputs are cut and decimated like the data, and
        stay aligned with them; they are not copied.
    """
    x, u, source, began = recording.values, recording.inputs, recording.source, recording.began
    interval = recording.dt or 0.0
    if cut < 0 or decimate < 1:
        raise CrugError(f"{source}: cut = {cut}, decimate = {decimate}", "cut is from 0, decimate from 1")
    if cut:
        if 2 * cut >= len(x):
            raise CrugError(f"{source}: has {len(x)} samples, {cut} cannot be cut from both ends")
        x, u, began = x[cut:-cut], None if u is None else u[cut:-cut], began + cut * interval
    if decimate > 1:
        if len(x) // decimate < SHORTEST:
            raise CrugError(
                f"{source}: {len(x)} samples decimated by {decimate} leave too few", f"{SHORTEST} are needed"
            )
        x, u = _decimated(x, decimate), None if u is None else _decimated(u, decimate)
    columns = recording.columns
    if lags:
        steps = [int(lag) for lag in lags]
        if min(steps) < 1 or max(steps) >= len(x):
            raise CrugError(f"{source}: lags {steps} do not fit {len(x)} samples", "they are in samples, from 1")
        longest = max(steps)
        x = np.concatenate([x[longest:], *(x[longest - s : len(x) - s] for s in steps)], axis=1)
        u, began = None if u is None else u[longest:], began + longest * decimate * interval
        columns += tuple(f"{name}-{s}" for s in steps for name in columns)
    dt = None if recording.dt is None else recording.dt * decimate
    return replace(recording, values=x, columns=columns, dt=dt, inputs=u, began=began)


def lags_in(columns: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The columns of which there are delayed copies among `columns`, and the delays; all of them and none where
    `shaped` did not make such names.

    Examples
    --------
    >>> lags_in(("x", "y", "x-20", "y-20"))
    (('x', 'y'), (20,))
    """
    for count in range(1, len(columns) // 2 + 1):
        first = tuple(columns[:count])
        tails = [name.removeprefix(f"{first[0]}-") for name in columns[count::count]]
        if all(tail.isdecimal() for tail in tails):
            lags = tuple(int(tail) for tail in tails)
            if tuple(columns[count:]) == tuple(f"{name}-{lag}" for lag in lags for name in first):
                return first, lags
    return tuple(columns), ()


def _decimated(x: np.ndarray, factor: int) -> np.ndarray:
    # the ends go on by reflection, or the filter would pull them to zero
    x = np.pad(x, ((BEYOND * factor,) * 2, (0, 0)), mode="reflect", reflect_type="odd")
    return anti_aliased(x, factor, ftype="fir", axis=0)[BEYOND:-BEYOND]


def automatic_lags(x: np.ndarray) -> list[int]:
    """Lags that suit samples (T, N): the length of their memory, and twice that.

    The first zero of the autocorrelation would serve for a wave as well. Where a system dwells on one side for long, as
    Lorenz' does, it is far beyond what can be predicted.
    """
    lag = memory_length(x)
    return [lag, 2 * lag]


def memory_length(x: np.ndarray) -> int:
    """The lag at which the fastest column of samples (T, N) has lost all but 1/e of its autocorrelation."""
    r = autocorrelation(x)
    lags = [np.flatnonzero(r[:, i] < np.exp(-1)) for i in range(r.shape[1])]
    found = [int(lag[0]) for lag in lags if len(lag)]
    return max(1, min(found)) if found else len(r)


def first_zero(x: np.ndarray) -> int:
    """The first lag at which the autocorrelation of samples (T, N), averaged over the columns, is not positive."""
    mean = autocorrelation(x).mean(axis=1)
    below = np.flatnonzero(mean <= 0)
    return max(1, int(below[0])) if len(below) else max(1, len(mean) // 10)


def autocorrelation(x: np.ndarray) -> np.ndarray:
    """The autocorrelation (lags, N) of each column of samples (T, N), from lag 0 to a quarter of the recording.

    At most the first 50,000 samples are looked at.
    """
    x = np.asarray(x[:50_000], np.float64)
    x = x / magnitude(x)
    x = x - x.mean(axis=0)
    power = np.abs(np.fft.rfft(x, 2 * len(x), axis=0)) ** 2
    r = np.fft.irfft(power, axis=0)[: max(2, len(x) // 4)]
    return r / r[0]

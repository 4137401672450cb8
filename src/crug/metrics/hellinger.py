"""D_H: the Hellinger distance between power spectra, averaged over the observed dimensions (appendix A.3)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.fft

from crug.metrics.measure import Compare, Measure

SPECTRUM = 20_000
"""Most samples of a spectrum: it grows with length because the smoothing is in bins."""
SIGMA = 20
"""Width of the spectral smoothing in bins."""
TRUNCATED = 4
"""Widths beyond which a Gaussian counts for nothing."""


def smoothing(samples: int) -> float:
    """The width for spectra of so many samples: the usual one, less where that would leave hardly any spectrum."""
    return min(SIGMA, samples / 50)


def power_spectrum(x: np.ndarray, sigma: float = SIGMA) -> np.ndarray | None:
    """The smoothed, normalised power spectrum (frequencies, N) of x (T, N), or the mean one of several x (..., T, N).

    None where a dimension is constant or not finite: such a trajectory has no spectrum.
    """
    x = np.ascontiguousarray(np.asarray(x, np.float64).swapaxes(-1, -2))
    if not np.isfinite(x).all():
        return None
    x = x - x.mean(axis=-1, keepdims=True)
    variance = (x * x).mean(axis=-1, keepdims=True)
    if (variance <= 1e-24).any():
        return None
    transform: Any = scipy.fft.rfft(x, axis=-1)
    power = (transform.real**2 + transform.imag**2) / variance
    power = power.reshape(-1, *power.shape[-2:]).mean(axis=0)
    power = _blurred(power, sigma)
    return (power / power.sum(axis=-1, keepdims=True)).T


def _blurred(power: np.ndarray, sigma: float) -> np.ndarray:
    """What `scipy.ndimage.gaussian_filter1d` makes of spectra (N, frequencies), by Fourier transforms, which is faster
    by the width of the kernel."""
    length, reach, response = _response(power.shape[-1], sigma)
    margin = np.pad(power, ((0, 0), (reach, reach)), mode="symmetric")
    transform: Any = scipy.fft.rfft(margin, length, axis=-1)
    blurred: Any = scipy.fft.irfft(transform * response, length, axis=-1)
    return np.maximum(blurred[:, 2 * reach : 2 * reach + power.shape[1]], 0)


@functools.lru_cache(maxsize=8)
def _response(samples: int, sigma: float) -> tuple[int, int, np.ndarray]:
    """The length of a transform that holds so many samples and a margin on either side, the reach of the Gaussian
    kernel, and its transform."""
    reach = int(TRUNCATED * sigma + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    length: Any = scipy.fft.next_fast_len(samples + 4 * reach, real=True)
    return length, reach, np.asarray(scipy.fft.rfft(weights / weights.sum(), length))


def spectral_distance(p: np.ndarray | None, q: np.ndarray | None) -> float:
    """D_H between two spectra (frequencies, N) of equal length; infinite where one of them does not exist."""
    if p is None or q is None:
        return np.inf
    overlap = np.sqrt(p * q).sum(axis=0)
    return float(np.sqrt(np.maximum(0.0, 1.0 - overlap)).mean())


def against(truth: np.ndarray, samples: int) -> Compare:
    """The comparison of rollouts of so many samples with the truth (T, N): spectra of equal length."""
    length = min(SPECTRUM, len(truth), samples)
    sigma = smoothing(length)
    spectrum = power_spectrum(truth[:length], sigma)
    return lambda rollout: spectral_distance(spectrum, power_spectrum(rollout[:length], sigma))


MEASURE = Measure("d_h", "D_H", against)


def d_h(truth: np.ndarray, rollout: np.ndarray) -> float:
    """The mean Hellinger distance between the power spectra of a true trajectory (T, N) and a rollout (L, N): between
    0 and 1, infinite where the rollout is constant or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.arange(2_000)[:, None]
    >>> d_h(np.sin(0.1 * t), np.cos(0.1 * t)) < 0.1 < d_h(np.sin(0.1 * t), np.sin(0.3 * t))
    True
    """
    return against(np.asarray(truth), len(rollout))(np.asarray(rollout))

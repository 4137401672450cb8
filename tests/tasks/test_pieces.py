"""The quick divergences by which checkpoints are compared are the measures."""

import numpy as np
import pytest

from crug.metrics import BinnedReference, MixtureReference, kl
from crug.metrics.hellinger import power_spectrum, smoothing, spectral_distance
from crug.tasks.pieces import BinnedPieces, MixturePieces, Spectra


@pytest.fixture
def walk():
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.standard_normal((6_000, 6)), axis=0)
    return (x - x.mean(axis=0)) / x.std(axis=0)


def test_mixtures_in_single_precision_are_those_in_double(walk):
    cuts = [walk[:3_000], walk[3_000:]]
    pieces = MixturePieces(cuts)
    exact = [MixtureReference(cut, pieces.POINTS, pieces.MOST) for cut in cuts]
    for made in (walk[1_000:5_000], 0.5 * walk, np.random.default_rng(1).standard_normal((900, 6)), 1e6 * walk):
        found = [r.divergence(made) for r in exact]
        assert pieces.divergence(made, [1]) == pytest.approx(found[1], rel=1e-4, abs=1e-3)
        assert pieces.divergence(made, [0, 1]) == pytest.approx(np.mean(found), rel=1e-4, abs=1e-3)
    for size in (np.nan, np.inf, 1e30):
        assert pieces.divergence(size * walk, [0, 1]) == np.inf


def test_bins_span_the_whole_recording(walk):
    x = walk[:, :2]
    pieces = BinnedPieces(x, [x[:2_000], x[2_000:]])
    bins = BinnedReference(x)
    densities = [np.asarray(bins.density(part)) for part in (x[:2_000], x[2_000:], x[500:1_500])]
    expected = [kl(truth, densities[2]) for truth in densities[:2]]
    assert pieces.divergence(x[500:1_500], [0, 1]) == pytest.approx(np.mean(expected))
    assert pieces.divergence(np.full((10, 2), np.nan), [0]) == np.inf


def test_spectra_are_compared_as_in_d_h(walk):
    cuts = [walk[:2_000], walk[3_000:5_000]]
    spectra, sigma = Spectra(cuts), smoothing(2_000)
    found = power_spectrum(walk[500:2_500], sigma)
    expected = [spectral_distance(power_spectrum(cut, sigma), found) for cut in cuts]
    assert spectra.distance(walk[500:4_500], [0, 1]) == pytest.approx(np.mean(expected), rel=1e-9)
    assert spectra.distance(walk[500:4_500], [1]) == pytest.approx(expected[1], rel=1e-9)
    assert spectra.distance(np.ones((4_000, 6)), [0, 1]) == 1.0
    assert Spectra([np.ones((2_000, 6))]).distance(walk, [0]) == 1.0

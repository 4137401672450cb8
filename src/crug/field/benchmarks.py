"""Which public files there are: what is learned of each, how it is judged, and what others have published.

The files are not part of crug; `crug benchmark --data DIR` finds them by their names in a folder. Each file is checked
against its SHA-256, because a silent change of a data set is the most common reason why numbers disagree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from crug.errors import CrugError

SUMS = Path(__file__).with_name("public.sha256")


@dataclass(frozen=True)
class Benchmark:
    """One public data set with its protocol.

    Parameters
    ----------
    name : by which it is asked for.
    title : what it is.
    train, test : the files to learn from and to judge by.
    way : how rollouts are made, a name in `crug.field.protocols.WAYS`.
    variant : how D_stsp is computed, a name in `crug.metrics.variants.VARIANTS`.
    learned : how many rows of `train` are learned; all if not given.
    dropped : how many of the first rows of both files are left out.
    published : D_stsp and, where it is given, D_H, by method.
    truth : D_stsp and D_H of the truth against itself, where it is known.
    source : who published the file and the numbers.
    alike : the benchmark whose files it judges by another protocol; one recording serves both.
    """

    name: str
    title: str
    train: str
    test: str
    way: str
    variant: str
    learned: int | None = None
    dropped: int = 0
    published: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)
    truth: tuple[float | None, float | None] = (None, None)
    source: str = ""
    alike: str | None = None

    @property
    def recording(self) -> str:
        """What it is called in a model that has learned it."""
        return self.alike or self.name

    def load(self, folder: Path) -> tuple[np.ndarray, np.ndarray]:
        """What is learned (T, N) and what it is judged by (T', N), float64."""
        whole = _read(folder / self.train)
        if self.way == "continued":
            assert self.learned is not None
            return whole[: self.learned], whole[self.learned :]
        test = _read(folder / self.test)
        return whole[self.dropped :][: self.learned], test[self.dropped :]


def _read(file: Path) -> np.ndarray:
    if not file.is_file():
        raise CrugError(
            f"{file}: is not there; its folder should hold the public files",
            "give the folder that holds them",
            "give the folder that holds them with --data",
        )
    sums = {name: digest for digest, name in (line.split() for line in SUMS.read_text().splitlines())}
    if hashlib.sha256(file.read_bytes()).hexdigest() != sums[file.name]:
        raise CrugError(f"{file}: its checksum is not that of the public file; get it again")
    return np.load(file).astype(np.float64)


EQUATIONS = "SINDy"
"""The one that is no network: it is given the terms that equations may have."""
PEERS = ("dendPLRNN", "reservoir", "LSTM", EQUATIONS, "neural ODE")


def _dend(name: str, title: str, train: str, test: str, values: tuple[float, ...], **other: object) -> Benchmark:
    """A row of dendPLRNN's Table 1."""
    published = {peer: (value, None) for peer, value in zip(PEERS, values, strict=True)}
    given: dict[str, object] = {"way": "restarted", "variant": "legacy", **other}
    source = "dendPLRNN (ICML 2022), Table 1"
    return Benchmark(name, title, train, test, published=published, source=source, **given)  # type: ignore[arg-type]


LORENZ_TEST = "dend_lorenz63_test.npy"
BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark(
            "dynamix-lorenz",
            "Lorenz-63 from the 2,000 samples of a context",
            "dynamix_lorenz63.npy",
            "dynamix_lorenz63.npy",
            "continued",
            "python",
            learned=2_000,
            published={"DynaMix, zero-shot": (0.804, 0.064), "context repeated": (1.90, 0.054)},
            truth=(0.44, 0.047),
            source="DynaMix-python, example_evaluation_DSR.ipynb",
        ),
        Benchmark(
            "dynamix-chua",
            "Chua from the 1,028 samples of a context",
            "dynamix_chua.npy",
            "dynamix_chua.npy",
            "continued",
            "python",
            learned=1_028,
            published={"DynaMix, zero-shot": (2.206, 0.088), "context repeated": (4.82, 0.073)},
            truth=(1.27, 0.014),
            source="DynaMix-python, example_evaluation_DSR.ipynb",
        ),
        Benchmark(
            "alrnn-lorenz",
            "Lorenz-63 of the AL-RNN tutorial",
            "alrnn_lorenz63_train.npy",
            "alrnn_lorenz63_test.npy",
            "tutorial",
            "python",
            dropped=500,
            published={"AL-RNN, 20 units, 21 minutes, the best of 80 checkpoints": (3.524, 0.143)},
            truth=(0.39, 0.031),
            source="ALRNN-DSR, AL-RNN_tutorial.ipynb",
        ),
        Benchmark(
            "gtf-ecg",
            "an electrocardiogram in five dimensions",
            "gtf_ecg_train.npy",
            "gtf_ecg_test.npy",
            "free",
            "julia",
            published={
                "shPLRNN + GTF, second-hand": (4.3, 0.34),
                "reservoir, second-hand": (5.3, 0.39),
                "LSTM, second-hand": (15.0, 0.73),
            },
            truth=(0.29, 0.060),
            source="GTF-shPLRNN",
        ),
        _dend(
            "dend-bursting",
            "a bursting neuron",
            "dend_bursting_train.npy",
            "dend_bursting_test.npy",
            (0.61, 5.1, 2.83, 6.36, 3.85),
        ),
        Benchmark(
            "dend-bursting-free",
            "the same neuron, never started anew",
            "dend_bursting_train.npy",
            "dend_bursting_test.npy",
            "free",
            "julia",
            truth=(1.39, 0.067),
            source="the file of dend-bursting by the protocol of gtf-ecg",
            alike="dend-bursting",
        ),
        _dend(
            "dend-lorenz",
            "Lorenz-63",
            "dend_lorenz63_train.npy",
            LORENZ_TEST,
            (0.13, 0.24, 0.85, 0.04, 0.149),
            truth=(0.036, None),
        ),
        _dend(
            "dend-lorenz-noisy",
            "Lorenz-63 with 10 % noise",
            "dend_lorenz63_noisy_train.npy",
            LORENZ_TEST,
            (0.40, 2.33, 1.19, 0.42, 0.79),
        ),
        _dend(
            "dend-lorenz-short",
            "Lorenz-63, 1,000 samples",
            "dend_lorenz63_lowdata_train.npy",
            LORENZ_TEST,
            (6.9, 5.74, 6.06, 0.04, 4.66),
        ),
        _dend(
            "dend-lorenz-partial",
            "Lorenz-63 of which only x is seen, and its past",
            "dend_lorenz63_partial_train.npy",
            "dend_lorenz63_partial_test.npy",
            (0.54, 2.92, 6.06, 2.52, 3.34),
        ),
        _dend(
            "dend-lorenz96",
            "Lorenz-96 in ten dimensions",
            "dend_lorenz96_train.npy",
            "dend_lorenz96_test.npy",
            (0.04, 0.25, 0.23, 0.06, 0.21),
            variant="mixture",
            truth=(0.10, None),
        ),
    )
}

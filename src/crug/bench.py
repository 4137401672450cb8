"""This engine against a plain PyTorch loop with autograd, and the methods against each other: one process, one thread.

Machines are noisy: what is compared is timed in turns, the fastest turn of each counts, and only ratios mean anything.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from crug.block import open_block
from crug.data import Recipe, make_windows
from crug.errors import CrugError
from crug.evaluation import TrainingScore
from crug.listeners import Silent
from crug.methods import METHODS, find
from crug.methods.base import Hints, Lesson
from crug.methods.gating import Gating
from crug.methods.shared import Shared
from crug.network import create
from crug.phases import Phase, controls
from crug.sequence import make_bench, run
from crug.tasks import SEQUENCES
from crug.tasks import load_recording as load
from crug.training import start, train_epochs

SIZES = ((160, 80), (32, 16))
TURNS = 5


def bench(say: Callable[[str], None]) -> dict[str, Any]:
    """{"steps": [...], "methods": [...], "run": {...}} as `crug bench --json` prints it."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise CrugError('the benchmark compares with PyTorch: pip install "crug[bench]", or make bench') from None
    torch.set_num_threads(1)
    steps = []
    for M, P in SIZES:
        ours, theirs = _times(engine_epoch(M, P), torch_steps(M, P))
        steps.append({"M": M, "P": P, "ours_ms": ours, "torch_ms": theirs, "ratio": theirs / ours})
        say(f"gradient step at M = {M}, P = {P}: {ours:.2f} ms, PyTorch {theirs:.1f} ms, ratio {theirs / ours:.1f}")
    methods = method_costs()
    for m in methods:
        say(f"step of {m['name']}: {m['ms']:.2f} ms, {m['ratio']:.2f} of naive ({m['state']})")
    say("a whole fixed-price run of vlrc, about ten minutes ...")
    run_seconds, count = _whole_run()
    torch_seconds = count * steps[0]["torch_ms"] / 1000
    ratio = torch_seconds / run_seconds
    say(f"whole run: {run_seconds:.0f} s; its {count} steps in PyTorch: {torch_seconds:.0f} s, ratio {ratio:.1f}")
    return {
        "steps": steps,
        "methods": methods,
        "run": {"ours_s": run_seconds, "torch_s": torch_seconds, "ratio": ratio},
    }


Timed = tuple[Callable[[], None], int]
"""Something to time, and how many gradient steps it takes."""


def _times(*timed: Timed) -> list[float]:
    """Milliseconds a step of each, the fastest of several turns."""
    best = [np.inf] * len(timed)
    for turn in range(TURNS + 1):
        for i, (go, steps) in enumerate(timed):
            began = time.perf_counter()
            go()
            if turn:  # the first turn compiles and warms up
                best[i] = min(best[i], 1000 * (time.perf_counter() - began) / steps)
    return best


def engine_epoch(M: int, P: int) -> Timed:
    """One epoch of this engine as a run takes it: gates, loss, adjoint, clipping, optimiser."""
    task, recipe = load("lorenz", 0), Recipe()
    network = create(M, P, task.dim, np.random.default_rng(0))
    nobody = np.array([], np.int64)
    block, params = open_block(network, np.arange(M), np.arange(task.dim), nobody)
    windows = make_windows(network, nobody, task.train, recipe, np.random.default_rng(0))
    phase = Phase("price", 1000, 1e-3, 1e-3, gates=True, gate_lr=5e-3, price_linear=1e-3, price_relu=1e-3)
    state, numbers, key = start(params, recipe, Gating()), controls(phase), jax.random.key(0)

    def go() -> None:
        one = jnp.int32(1)
        jax.block_until_ready(
            train_epochs(state, block.fixed, windows, numbers, key, one, one, Gating(), recipe)[0].params
        )

    return go, recipe.batches


def torch_steps(M: int, P: int, count: int = 8) -> Timed:
    """The same model, forcing, gates, loss and clipping as a plain loop with autograd."""
    import torch  # pyright: ignore[reportMissingImports]

    recipe, dim = Recipe(), 3
    rng = np.random.default_rng(0)
    x = torch.tensor(load("lorenz", 0).train, dtype=torch.float32)
    B = torch.tensor(rng.uniform(-1, 1, (M, dim)) / np.sqrt(dim), dtype=torch.float32)
    a, W, h = torch.full((M,), 0.3), torch.zeros(M, M), torch.zeros(M)
    log_alpha = torch.full((M,), 2.0)
    params = [p.requires_grad_() for p in (a, W, h, log_alpha)]
    optimiser = torch.optim.Adam(params, lr=1e-3)

    def go() -> None:
        for _ in range(count):
            begin = rng.integers(0, len(x) - recipe.window - 1, recipe.batch)
            windows = torch.stack([x[i : i + recipe.window + 1] for i in begin], dim=1)
            g = torch.clamp(torch.sigmoid(log_alpha) * 1.2 - 0.1, 0, 1)
            a_g, W_g, h_g = g * a, g[:, None] * W * g, g * h
            z = windows[0] @ B.T
            predicted = []
            for t in range(recipe.window):
                if t % recipe.interval == 0:
                    z = torch.cat([windows[t], z[:, dim:]], dim=1)
                active = torch.cat([z[:, : M - P], torch.relu(z[:, M - P :])], dim=1)
                z = a_g * z + active @ W_g.T + h_g
                predicted.append(z[:, :dim])
            loss = ((torch.stack(predicted) - windows[1:]) ** 2).mean()
            loss = loss + 1e-3 * torch.sigmoid(log_alpha - np.log(0.1 / 1.1)).sum()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(params, recipe.clip)
            optimiser.step()

    return go, count


def method_costs(M: int = 160, P: int = 80) -> list[dict[str, Any]]:
    """What a gradient step on the present task costs under each method, all that comes with it included."""
    kinds = [(name, {}, name) for name in METHODS if name != "crug"]
    kinds += [("crug", {"allocation": a}, f"crug, {a}") for a in ("price", "path")]
    timed, states = zip(*(_method_epoch(name, settings, M, P) for name, settings, _ in kinds), strict=True)
    times = _times(*timed)
    naive = times[[label for *_, label in kinds].index("naive")]
    return [
        {"name": label, "ms": ms, "ratio": ms / naive, "state": state}
        for (*_, label), ms, state in zip(kinds, times, states, strict=True)
    ]


def _method_epoch(name: str, settings: dict[str, Any], M: int, P: int) -> tuple[Timed, str]:
    """One epoch of a method: its first, and for a method with a memory, the first of its third task."""
    method_class, names = find(name), SEQUENCES["lorenz-family"][:3]
    base = {"sequence": "three", "tasks": names, "method": name, "network": {"M": M, "P": P}}
    config = method_class.Config.model_validate({**base, **settings})
    method, tasks = method_class(config), [load(task, 0) for task in names]
    network, memory, number = create(M, P, 3, np.random.default_rng(0)), {}, 0
    if isinstance(method, Shared):
        for number, task in enumerate(tasks[:2]):
            opening = method.open(network, tasks, number)
            block, params = open_block(network, opening.units(None), opening.readout, opening.feeders)
            recipe = config.recipe(len(task.train))
            windows = make_windows(network, opening.feeders, task.train, recipe, np.random.default_rng(0))
            running = method.objective.begin(params)
            lesson = Lesson(number, tasks, block, params, running, windows, recipe, TrainingScore(task))
            network, memory = method.close(network, lesson, memory, np.random.default_rng(0))
        number = 2 if memory else 0
    opening = method.open(network, tasks, number)
    task_bench = make_bench(config, method, network, memory, tasks, number, opening)
    phase = method.next_phase([], Hints(number, opening.size, 3, 0.0, 0.0, task_bench.recipe.batches))
    assert phase is not None
    block, params = open_block(network, opening.units(phase.size), opening.readout, opening.feeders)
    b, one = task_bench, jnp.int32(1)
    state, numbers, key = start(params, b.recipe, b.objective), controls(phase) | b.extra, jax.random.key(0)

    def go() -> None:
        out, _ = train_epochs(state, block.fixed, b.windows, numbers, key, one, one, b.objective, b.recipe, b.others)
        jax.block_until_ready(out.params)

    return (go, b.recipe.batches), f"task {number + 1}, {len(block.members)} units"


def _whole_run() -> tuple[float, int]:
    """Seconds of a fixed-price run of vlrc at its configured epochs, all included, and its gradient steps."""
    method = find("crug")
    names = SEQUENCES["vlrc"]
    values = {"sequence": "vlrc", "tasks": names, "method": "crug", "allocation": "price"}
    config = method.Config.model_validate(values)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run(config, method(config), Path(folder) / "run", Silent())
        seconds = time.perf_counter() - began
    return seconds, len(names) * config.epochs * Recipe().batches

"""This engine against a plain PyTorch loop with autograd, and the methods against each other: one process, one thread.

Machines are noisy: what is compared is timed in turns, the fastest turn of each counts, and only ratios mean anything.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from crug.core.block import Opening, open_block
from crug.core.network import create
from crug.errors import CrugError
from crug.methods import METHODS, find
from crug.methods.base import Assignment, Lesson
from crug.methods.crug.gates import Gating
from crug.methods.shared import NOBODY, Shared
from crug.runs.learning import prepare
from crug.runs.listeners import Silent
from crug.runs.plan import Plan
from crug.runs.sequence import carry_out
from crug.runtime import one_thread
from crug.sections import TrainingSettings
from crug.tasks import SEQUENCES
from crug.tasks.systems import load
from crug.tasks.windows import make_windows
from crug.training.epochs import Given, Recipe, Rules, train_epochs
from crug.training.phases import Course, Phase

SIZES = ((160, 80), (32, 16))
TURNS = 5


def bench(say: Callable[[str], None]) -> dict[str, Any]:
    """{"steps": [...], "methods": [...], "run": {...}} as `--json` prints it."""
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
    task, training = load("lorenz", 0), TrainingSettings()
    network = create(M, P, task.dim, np.random.default_rng(0))
    opening = Opening(np.arange(task.dim), np.arange(task.dim, M - P), np.arange(M - P, M), NOBODY)
    windows = make_windows(network, NOBODY, task.train, training, np.random.default_rng(0))
    rules = Rules(Gating(), Recipe.of(training, task.samples))
    course = Course(network, opening, windows, rules, task.scorer(network, NOBODY, training))
    prices = {
        "gates": 1.0,
        "gate_lr": 5e-3,
        "price_linear": 1e-3,
        "price_relu": 1e-3,
        "price_transfer": 0.0,
        "warm": 0.0,
    }
    return epoch_of(course, Phase("price", 1000, 1e-3, 1e-3, controls=prices))[0]


def epoch_of(course: Course, phase: Phase) -> tuple[Timed, int]:
    """One epoch of a phase that opens a block, and the block's units."""
    began, one, key = course.open(phase.size), jnp.int32(1), jax.random.key(0)
    given = Given(began.block.fixed, course.data, course.controls(phase), course.others)

    def go() -> None:
        jax.block_until_ready(train_epochs(began.state, given, key, one, one, course.rules)[0].params)

    return (go, course.recipe.batches), len(began.block.members)


def torch_steps(M: int, P: int, count: int = 8) -> Timed:
    """The same model, forcing, gates, loss and clipping as a plain loop with autograd."""
    import torch  # pyright: ignore[reportMissingImports]

    recipe, dim = TrainingSettings(), 3
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
    kind, tasks = find(name), tuple(load(task, 0) for task in SEQUENCES["lorenz-family"][:3])
    method = kind(kind.Settings.resolve("three", {"network": {"M": M, "P": P}, **settings}))
    network, memory, number = create(M, P, 3, np.random.default_rng(0)), {}, 0
    if isinstance(method, Shared):
        for number, task in enumerate(tasks[:2]):
            assignment = Assignment(task, number, network, memory, 0, tasks)
            course, _ = prepare(method, assignment)
            block, params = open_block(network, course.opening)
            account = method.objective.begin(params)
            lesson = Lesson(assignment, block, params, account, course.data, course.recipe, course.scorer)
            network, memory = method.close(lesson, np.random.default_rng(0))
        number = 2 if memory else 0
    course, hints = prepare(method, Assignment(tasks[number], number, network, memory, 0, tasks))
    phase = method.next_phase([], hints)
    assert phase is not None
    timed, units = epoch_of(course, phase)
    return timed, f"task {number + 1}, {units} units"


def _whole_run() -> tuple[float, int]:
    """Seconds of a fixed-price run of vlrc at its configured epochs, all included, and its gradient steps."""
    plan, kind = Plan.make("vlrc"), find("crug")
    settings = kind.Settings.resolve(plan.case, {"allocation": "price"})
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        carry_out(plan, kind(settings), Path(folder) / "run", Silent())
        seconds = time.perf_counter() - began
    batches = Recipe.of(settings.training, load("lorenz", 0).samples).batches
    return seconds, len(plan.tasks) * settings.epochs * batches


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, and nothing else")
    one_thread()
    as_json = parser.parse_args().json
    figures = bench((lambda text: None) if as_json else print)
    if as_json:
        print(json.dumps(figures, indent=1))

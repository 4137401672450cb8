"""A model through any order of what can be done with it, failed saves among it: nothing that was learned changes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import crug
from attack.malformed import quiet
from attack.tally import Tally
from crug.errors import CrugError

BORN: dict[str, Any] = {}
"""The bytes of the model that every machine begins with, a model of recordings that may be added, and the tally."""


class Life(RuleBasedStateMachine):
    """Two people with one file."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.file = Path(self.place.name) / "lab.crug"
        self.file.write_bytes(BORN["content"])
        self.hands = [crug.load(self.file), crug.load(self.file)]
        both = (self.hands[0], BORN["more"])
        self.rolled = {name: one.rollout(name, 30).tobytes() for one in both for name in one.tasks}
        self.filed = self.hands[0].tasks

    def done(self, what: str) -> None:
        BORN["tally"].count(what)

    def saved(self, who: int) -> None:
        self.filed = self.hands[who].tasks
        self.done("saved")

    @rule(who=st.integers(0, 1), units=st.integers(1, 9))
    def grow(self, who: int, units: int) -> None:
        self.hands[who].grow(units)
        self.done("grown")

    @rule(who=st.integers(0, 1))
    def remove(self, who: int) -> None:
        if len(self.hands[who].tasks) > 1:
            self.hands[who].remove(self.hands[who].tasks[0])
            self.done("removed")

    @rule(who=st.integers(0, 1), which=st.integers(0, 1))
    def add(self, who: int, which: int) -> None:
        """A recording that was learned elsewhere."""
        one, mine = BORN["more"].kept[which], self.hands[who]
        if one.name not in mine.tasks and sum(one.listed.count.values()) <= mine.units_free:
            mine.add(one)
            self.done("added")

    @rule(who=st.integers(0, 1))
    def save(self, who: int) -> None:
        before = self.file.read_bytes()
        try:
            self.hands[who].save(self.file)
            self.saved(who)
        except CrugError:
            assert self.file.read_bytes() == before
            self.done("told that the file has changed")

    @rule(who=st.integers(0, 1), moment=st.sampled_from(["fsync", "replace"]))
    def save_on_a_full_disk(self, who: int, moment: str) -> None:
        usual, before = getattr(os, moment), self.file.read_bytes()

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        setattr(os, moment, full)
        try:
            self.hands[who].save(self.file)
            self.saved(who)  # nothing was new, or it was appended, and nothing had to be replaced
        except CrugError:
            self.done("told that the disk is full, or the file has changed")
            assert self.file.read_bytes() == before
        finally:
            setattr(os, moment, usual)

    @rule(who=st.integers(0, 1))
    def load(self, who: int) -> None:
        self.hands[who] = crug.load(self.file)
        self.done("loaded")

    @invariant()
    def what_was_learned_is_there(self) -> None:
        for model in self.hands:
            assert all(model.verify().values())
            for name in model.tasks:
                assert model.rollout(name, 30).tobytes() == self.rolled[name]
        assert crug.load(self.file).tasks == self.filed
        assert [path.name for path in self.file.parent.iterdir()] == ["lab.crug"]

    def teardown(self) -> None:
        self.place.cleanup()


def attack(file: Path, more: crug.Model, lives: int) -> Tally:
    """So many lives of a model, of some steps each; it may take in the two recordings of another one."""
    tally = Tally("lives of a model", "nothing that was learned changes, nobody's work is lost, nothing is left behind")
    BORN.update(content=file.read_bytes(), more=more, tally=tally)
    with np.errstate(all="ignore"):
        try:
            run_state_machine_as_test(Life, settings=settings(quiet(lives), stateful_step_count=12))
        except Exception as error:
            tally.count(type(error).__name__, str(error))
    return tally

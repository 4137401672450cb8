"""Naive fine-tuning: task after task, nothing done against forgetting."""

from __future__ import annotations

from typing import ClassVar

from crug.methods.shared import Shared


class Naive(Shared):
    name: ClassVar[str] = "naive"
    summary: ClassVar[str] = "fine-tuning, task after task; forgets"

"""Compiled code does not pile up until the system refuses more."""

import jax
import jax.numpy as jnp
import pytest

from crug import runtime


def held():
    return len(runtime.MAPS.read_text().splitlines())


@pytest.mark.skipif(not runtime.MOST.exists(), reason="only Linux says how many pieces of memory a process may have")
def test_compiled_code_is_dropped_where_there_is_much_of_it(tmp_path, monkeypatch):
    runtime.make_room()
    before = held()
    double = jax.jit(lambda x: 2 * jnp.sin(x))
    for size in range(1, 40):
        double(jnp.zeros(size))
    full = held()
    assert full > before + 39
    runtime.make_room()
    assert held() >= full  # far from the limit nothing is dropped
    monkeypatch.setattr(runtime, "MOST", tmp_path / "most")
    (tmp_path / "most").write_text(f"{full}\n")
    runtime.make_room()
    assert held() < full - 39
    assert float(double(jnp.full(3, 0.5))[0]) == pytest.approx(0.9589, abs=1e-4)

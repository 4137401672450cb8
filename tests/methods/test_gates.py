"""The hard-concrete gate and its price (eq. 3 and 5)."""

import jax
import jax.numpy as jnp
import numpy as np

from crug.methods.crug.gates import START, gate, openness


def test_gate_values_of_the_paper():
    assert abs(float(gate(jnp.float32(START))) - 0.957) < 1e-3
    assert float(gate(jnp.float32(3.0))) == 1.0
    assert float(gate(jnp.float32(-3.0))) == 0.0
    assert abs(float(gate(jnp.float32(0.0))) - 0.5) < 1e-6


def test_a_closed_gate_has_no_gradient_and_an_open_one_a_price():
    assert float(jax.grad(gate)(-3.0)) == 0.0
    assert float(jax.grad(gate)(1.0)) > 0.0
    price = np.asarray(openness(jnp.array([-5.0, 0.0, 2.0])))
    expected = 1 / (1 + np.exp(-(np.array([-5.0, 0.0, 2.0]) - np.log(0.1 / 1.1))))
    np.testing.assert_allclose(price, expected, rtol=1e-5)

"""JAX: a jitted training step, on one GPU, or with its batch sharded over the GPUs of one process."""

import sys

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec


def loss_of(weights, x):
    hidden = jnp.tanh(x @ weights["up"])
    return jnp.mean((hidden @ weights["down"] - x) ** 2)


@jax.jit
def step(weights, x):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x)
    return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients), loss


is_sharded = sys.argv[1:] == ["sharded"]
width, hidden, batch, steps = (2048, 8192, 4096, 100) if is_sharded else (256, 512, 64, 200)
assert jax.default_backend() == "gpu", f"JAX runs on the {jax.default_backend()}"
keys = jax.random.split(jax.random.key(0), 3)
weights = {
    "up": jax.random.normal(keys[0], (width, hidden)) / width**0.5,
    "down": jax.random.normal(keys[1], (hidden, width)) / hidden**0.5,
}
x = jax.random.normal(keys[2], (batch, width))
if is_sharded:
    assert jax.device_count() > 1, f"JAX has {jax.devices()}"
    mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))
    weights = jax.device_put(weights, NamedSharding(mesh, PartitionSpec()))
    x = jax.device_put(x, NamedSharding(mesh, PartitionSpec("data")))
for i in range(steps):
    weights, loss = step(weights, x)
    print(f"step {i} loss {loss:.4f}", flush=True)

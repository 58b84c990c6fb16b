"""JAX: a jitted training step, its batch sharded over the GPUs of one process."""

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

WIDTH, HIDDEN, BATCH = 2048, 8192, 4096

mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))
assert jax.device_count() > 1, f"JAX has {jax.devices()}"


def loss_of(weights, x):
    hidden = jnp.tanh(x @ weights["up"])
    return jnp.mean((hidden @ weights["down"] - x) ** 2)


@jax.jit
def step(weights, x):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x)
    return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients), loss


keys = jax.random.split(jax.random.key(0), 3)
weights = {
    "up": jax.random.normal(keys[0], (WIDTH, HIDDEN)) / WIDTH**0.5,
    "down": jax.random.normal(keys[1], (HIDDEN, WIDTH)) / HIDDEN**0.5,
}
weights = jax.device_put(weights, NamedSharding(mesh, PartitionSpec()))
x = jax.device_put(jax.random.normal(keys[2], (BATCH, WIDTH)), NamedSharding(mesh, PartitionSpec("data")))
for i in range(100):
    weights, loss = step(weights, x)
    print(f"step {i} loss {loss:.4f}", flush=True)

"""JAX: a jitted training step on the GPU."""

import jax
import jax.numpy as jnp

assert jax.default_backend() == "gpu", f"JAX runs on the {jax.default_backend()}"


def loss_of(weights, x):
    hidden = jnp.tanh(x @ weights["up"])
    return jnp.mean((hidden @ weights["down"] - x) ** 2)


@jax.jit
def step(weights, x):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x)
    return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients), loss


keys = jax.random.split(jax.random.key(0), 3)
weights = {"up": jax.random.normal(keys[0], (256, 512)) / 16, "down": jax.random.normal(keys[1], (512, 256)) / 23}
x = jax.random.normal(keys[2], (64, 256))
for i in range(200):
    weights, loss = step(weights, x)
    print(f"step {i} loss {loss:.4f}", flush=True)

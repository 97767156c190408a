"""A transformer block's training step and its arguments, for python -m tilecast.jax."""
import jax
import jax.numpy as jnp

BATCH, LENGTH, WIDTH, HEADS = 8, 512, 1024, 16


def block(params, x):
    with jax.named_scope("attention"):
        queries, keys, values = (
            (x @ params[name]).reshape(BATCH, LENGTH, HEADS, WIDTH // HEADS)
            for name in ("queries", "keys", "values"))
        scores = jnp.einsum("bqhd,bkhd->bhqk", queries, keys) / (WIDTH // HEADS) ** 0.5
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), values)
        x = x + mixed.reshape(x.shape) @ params["mix"]
    with jax.named_scope("mlp"):
        return x + jax.nn.gelu(x @ params["up"]) @ params["down"]


def train(params, x):
    def loss(params):
        return jnp.mean(jnp.square(block(params, x).astype(jnp.float32)))

    gradients = jax.grad(loss)(params)
    with jax.named_scope("update"):
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients)


def step():
    square, wide = (WIDTH, WIDTH), (WIDTH, 4 * WIDTH)
    shapes = {"queries": square, "keys": square, "values": square, "mix": square, "up": wide,
              "down": wide[::-1]}
    params = {name: jax.ShapeDtypeStruct(shape, jnp.bfloat16) for name, shape in shapes.items()}
    x = jax.ShapeDtypeStruct((BATCH, LENGTH, WIDTH), jnp.bfloat16)
    return jax.jit(train, donate_argnums=0), (params, x)

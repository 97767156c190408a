"""One training step over slices of a TPU, weights on every chip or spread over all: seconds, MFU,
network that nothing hides, peak memory; then the fastest per sample of those that fit.

    python configs/examples/jax_scaling.py v6e 4 16 64

Every row is compiled by XLA:TPU for its slice; nothing is scaled by rule.
"""
import sys

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

import tilecast.jax

LAYERS, WIDTH, ROWS = 2, 2048, 4096  # rows of each chip


def train(weights, x):
    def loss(weights):
        y = x
        for up, down in weights:
            y = y + jax.nn.gelu(y @ up) @ down
        return jnp.mean(jnp.square(y.astype(jnp.float32)))

    gradients = jax.grad(loss)(weights)
    return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients)


def arguments(chips, spread):
    mesh = AbstractMesh((chips,), ("chips",))
    first = PartitionSpec("chips" if spread else None, None)

    def array(rows, columns, spec):
        return jax.ShapeDtypeStruct((rows, columns), jnp.bfloat16, sharding=NamedSharding(mesh, spec))

    layer = (array(WIDTH, 4 * WIDTH, first), array(4 * WIDTH, WIDTH, first))
    return [layer] * LAYERS, array(ROWS * chips, WIDTH, PartitionSpec("chips", None))


def main(generation, *sizes):
    print(f"{'chips':>6} {'weights':8} {'step s':>10} {'MFU %':>6} {'exposed s':>10} {'peak GiB':>9}  fits")
    fitting = []
    for chips in map(int, sizes):
        for spread in (False, True):
            run = tilecast.jax.simulate(jax.jit(train, donate_argnums=0), *arguments(chips, spread),
                                        slice=f"{generation}-{chips}")
            said, name = run.to_dict(), "spread" if spread else "copied"
            network = said.get("communication", {"time_s": 0.0, "hidden_s": 0.0})
            fits = said["memory"]["fits"]
            print(f"{chips:6} {name:8} {run.time:10.3g} {100 * run.mfu:6.1f} "
                  f"{network['time_s'] - network['hidden_s']:10.3g} {run.peak_memory / 2**30:9.3f}  "
                  f"{'yes' if fits else 'NO'}")
            if fits:
                fitting.append((run.time / chips, chips, name))
    if fitting:
        _, chips, name = min(fitting)
        print(f"fastest per sample: {chips} chips, weights {name}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

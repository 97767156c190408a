"""import tilecast.jax: programs compiled for machines that are not there, against XLA's own counts.

Runs with the Python of scripts/jax_venv, which has JAX and the compilers.
"""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "configs/examples"))
sys.path.insert(0, str(ROOT / "sim/python/tilecast/jax"))

import compiler  # noqa: E402

os.environ.update(compiler.ENVIRONMENT)
sys.path.remove(str(ROOT / "sim/python/tilecast/jax"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec  # noqa: E402

import jax_block  # noqa: E402
import jax_scaling  # noqa: E402
import tilecast  # noqa: E402
import tilecast.jax  # noqa: E402

BLOCK = ROOT / "configs/examples/jax_block.py"
WIDER = {"multiplexing.workers": "208", "hbm.bandwidth": "9 TB/s"}


def shape(*sizes, dtype=jnp.bfloat16, sharding=None):
    return jax.ShapeDtypeStruct(sizes, dtype, sharding=sharding)


def mlp(weights, x):
    with jax.named_scope("up"):
        x = jnp.tanh(x @ weights[0])
    with jax.named_scope("down"):
        return x @ weights[1]


def convolutions(kernels, x):
    for kernel in kernels:
        x = jax.nn.relu(jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    return x.mean(axis=(1, 2))


PROGRAMS = {"mlp": (mlp, ([shape(512, 2048), shape(2048, 512)], shape(1024, 512))),
            "convolutions": (convolutions, ([shape(3, 3, 64, 64)] * 2, shape(8, 32, 32, 64))),
            "block": jax_block.step()}


def flops_of(run):
    return sum(k["multiplicity"] * k["flops"] for k in run.to_dict()["kernels"])


class CompiledForMachinesThatAreNotThere(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        changed = mock.patch.dict(os.environ, TILECAST_CACHE=folder.name)
        changed.start()
        self.addCleanup(changed.stop)

    def test_three_programs_on_four_machines(self):
        devices = ["tpu_v5e", "tpu_v5p", "h100_sxm", tilecast.Device("h100_sxm", set=WIDER)]
        for name, (function, arguments) in PROGRAMS.items():
            runs = tilecast.jax.simulate(function, *arguments, device=devices)
            for run in runs:
                with self.subTest(program=name, device=run.device):
                    self.assertRegex(run.compiler, "^XLA:(TPU of libtpu|GPU of jax-cuda13-plugin) ")
                    self.assertGreater(run.mfu, 0)
                    self.assertLess(run.mfu, 1)
                    counts = run.compiled.counts
                    self.assertAlmostEqual(run.peak_memory / counts["peak_memory_bytes"], 1,
                                           delta=0.1)
                    if "flops" in counts:  # loops' bodies count once there: these have none
                        self.assertAlmostEqual(flops_of(run) / counts["flops"], 1, delta=0.01)
                    self.assertAlmostEqual(sum(run.scopes().values()),
                                           sum(k["total_s"] for k in run.to_dict()["kernels"]))
            h100, wider = runs[2:]
            if name == "block":  # the others are too short to fill more multiprocessors
                self.assertLess(wider.time, h100.time)

    def test_scopes_are_the_functions(self):
        run = tilecast.jax.simulate(mlp, *PROGRAMS["mlp"][1], device="tpu_v5e")
        self.assertLessEqual({"up", "down"}, set(run.scopes(1)))
        self.assertIn("up", list(run.by_scope(1)["scope"]))
        self.assertEqual(len(run.kernels), len(run.to_dict()["kernels"]))
        self.assertIn("<td>", run._repr_html_())

    def test_a_sharded_function_is_partitioned_by_the_compiler(self):
        mesh = AbstractMesh((4,), ("chips",))
        across = NamedSharding(mesh, PartitionSpec(None, "chips"))
        down = NamedSharding(mesh, PartitionSpec("chips", None))
        weights = [shape(512, 2048, sharding=across), shape(2048, 512, sharding=down)]
        x = shape(1024, 512, sharding=NamedSharding(mesh, PartitionSpec()))
        for device in ("tpu_v5e", "h100_sxm"):
            run = tilecast.jax.simulate(mlp, weights, x, device=device)
            opcodes = {kernel["opcode"] for kernel in run.to_dict()["kernels"]}
            self.assertTrue(any(name.startswith(("all-reduce", "reduce-scatter"))
                                for name in opcodes), opcodes)
            self.assertLess(flops_of(run), 0.3 * 4 * 1024 * 512 * 2048)
        on_slice = tilecast.jax.simulate(mlp, weights, x, slice="v5e-4").to_dict()
        self.assertEqual(on_slice["slice_cores"], 4)
        self.assertGreater(on_slice["communication"]["time_s"], 0)
        with self.assertRaisesRegex(tilecast.Error, "one of device= and slice="):
            tilecast.jax.simulate(mlp, weights, x)

    def test_the_scaling_study_prints_a_row_for_each_sharding(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            jax_scaling.main("v5e", "4")
        rows = said.getvalue().splitlines()[1:]
        self.assertEqual([row.split()[:2] for row in rows[:2]], [["4", "copied"], ["4", "spread"]])
        self.assertTrue(all(0 < float(row.split()[3]) < 100 for row in rows[:2]), rows)
        self.assertRegex(rows[2], "fastest per sample: 4 chips, weights (copied|spread)")

    def test_a_second_time_nothing_is_compiled(self):
        asked = dict(device="tpu_v5e")
        first = tilecast.jax.simulate(mlp, *PROGRAMS["mlp"][1], **asked)
        with mock.patch.object(tilecast.jax, "_run_compiler", side_effect=AssertionError):
            again = tilecast.jax.simulate(mlp, *PROGRAMS["mlp"][1], **asked)
            self.assertEqual(again.to_dict(), first.to_dict())
            other = tilecast.jax.simulate(mlp, *PROGRAMS["mlp"][1], compile="own", **asked)
        self.assertEqual(other.compiler, "Tilecast's own rules")

    def test_a_machine_without_a_compiler_says_so(self):
        run = tilecast.jax.simulate(mlp, *PROGRAMS["mlp"][1], device="mi300x")
        self.assertIn("no compiler for mi300x", run.notes[0])
        self.assertIn(run.notes[0], str(run))
        with self.assertRaisesRegex(tilecast.Error, "no compiler for mi300x"):
            tilecast.jax.simulate(mlp, *PROGRAMS["mlp"][1], device="mi300x", compile="xla")
        with self.assertRaisesRegex(tilecast.Error, "CUDA 13 does not compile for sm_70"):
            tilecast.jax.simulate(mlp, *PROGRAMS["mlp"][1], device="v100_pcie", compile="xla")

    def test_what_does_not_compile_is_one_clear_error(self):
        big = shape(200000, 200000, dtype=jnp.float32)
        with self.assertRaisesRegex(tilecast.Error, "Ran out of memory"):
            tilecast.jax.simulate(lambda x: x @ x, big, device="tpu_v5e")
        with self.assertRaisesRegex(tilecast.Error, "was stopped after 0.05 s"):
            tilecast.jax.simulate(mlp, *PROGRAMS["mlp"][1], device="tpu_v5e", timeout_s=0.05)
        with self.assertRaisesRegex(tilecast.Error, "expected 'auto', 'xla' or 'own'"):
            tilecast.jax.simulate(mlp, *PROGRAMS["mlp"][1], device="tpu_v5e", compile="gcc")

    def test_written_files_give_the_same_number(self):
        run = tilecast.jax.simulate(mlp, *PROGRAMS["mlp"][1], device="tpu_v5e")
        paths = tilecast.jax.write(mlp, PROGRAMS["mlp"][1], self.folder, device="tpu_v5e")
        self.assertEqual([os.path.basename(path) for path in paths],
                         ["mlp.mlir", "mlp.tpu_v5e.hlo"])
        self.assertEqual(tilecast.simulate(paths[1], "tpu_v5e").time_s, run.time_s)
        self.assertGreater(tilecast.simulate(paths[0], "tpu_v5e").time_s, 0)


class CommandLine(unittest.TestCase):
    def run_it(self, *arguments):
        with tempfile.TemporaryDirectory() as cache:
            return subprocess.run([sys.executable, "-m", "tilecast.jax", *arguments], text=True,
                                  capture_output=True, cwd=ROOT, check=False,
                                  env={**os.environ, "TILECAST_CACHE": cache})

    def test_it_prints_the_report_and_a_table_of_machines(self):
        one = self.run_it(f"{BLOCK}:step", "-d", "h100_sxm", "--scopes", "1")
        self.assertEqual((one.returncode, one.stderr), (0, ""))
        for part in ("compiler  XLA:GPU", "time      ", "attention", "mlp", "update"):
            self.assertIn(part, one.stdout)
        two = self.run_it("jax.nn:gelu", "--arg", "bf16[1024,1024]", "-d", "tpu_v5e", "-d", "tpu_v3",
                          "--set", "hbm.efficiency=0.5", "--compile", "own")
        self.assertEqual((two.returncode, two.stderr), (0, ""))
        self.assertRegex(two.stdout, r"tpu_v5e +\d+\.\d+ ")

    def test_errors_are_one_line(self):
        for arguments, text in ((["jax.nn:no_such"], "has no function 'no_such'"),
                                (["no_module:f"], "No module named 'no_module'"),
                                (["gelu"], "expected MODULE:FUNCTION"),
                                (["jax.nn:gelu", "--arg", "bf17[4]"], "unknown type 'bf17'"),
                                (["jax.nn:gelu", "--arg", "f32"], "expected TYPE[SIZES]")):
            run = self.run_it(*arguments, "-d", "tpu_v5e")
            self.assertEqual(run.returncode, 1, run)
            self.assertIn(text, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)


if __name__ == "__main__":
    unittest.main()

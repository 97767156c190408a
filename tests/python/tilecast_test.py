"""import tilecast: numbers bit-identical to the command, errors with places, batches."""
import inspect
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

import numpy

import tilecast

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = ROOT / "configs/examples/product.hlo"
GPU_PRODUCT = ROOT / "configs/examples/gpu_product.hlo"
MLP = ROOT / "configs/programs/mlp_train.hlo"


def command(*arguments):
    out = subprocess.run([os.environ["TILECAST_BINARY"], *map(str, arguments)], check=True,
                         capture_output=True, text=True, cwd=ROOT)
    return out.stdout


class SameNumbers(unittest.TestCase):
    def test_simulate_is_the_commands_json(self):
        for device in ("tpu_v3", "h100_sxm"):
            for model in ("analytical", "default"):
                expected = json.loads(command("simulate", "-d", device, "--model", model, "-f",
                                              "json", MLP))["programs"][0]
                run = tilecast.simulate(MLP, device, model=model)
                self.assertEqual(run.to_dict(), expected)
                self.assertEqual(run.time_s, expected["time_s"])
                believed = expected.get("believed")
                self.assertEqual(run.believed, believed and {
                    part: share["time_s"] / run.time_s for part, share in believed.items()})
                self.assertEqual(run.numbers["energy_J"], expected["energy_J"])
                self.assertEqual(run.numbers["peak_memory_bytes"],
                                 expected["memory"]["peak_bytes"])
                self.assertEqual(list(run.columns()["time_s"]),
                                 [k["time_s"] for k in expected["kernels"]])

    def test_changes_of_the_device_are_those_of_set(self):
        expected = json.loads(command("simulate", "-d", "tpu_v3", "--set", "hbm.bandwidth=1.2TB/s",
                                      "-f", "json", "--model", "analytical", MLP))["programs"][0]
        for changes in ({"hbm.bandwidth": "1.2TB/s"}, ["hbm.bandwidth=1.2TB/s"]):
            device = tilecast.Device("tpu_v3", set=changes)
            run = tilecast.simulate(MLP, device, model="analytical")
            self.assertEqual(run.time_s, expected["time_s"])

    def test_explain_is_the_commands_text(self):
        kernel = "dot_subtract_fusion.109"
        for model in ("analytical", "default"):
            expected = command("explain", "-d", "tpu_v3", "--model", model, "-k", kernel, MLP)
            why = tilecast.explain(MLP, "tpu_v3", kernel=kernel, model=model)
            self.assertEqual(str(why), expected)

    def test_tiles_are_the_commands_rows(self):
        listed = tilecast.list_tiles(PRODUCT, "tpu_v3")
        times = tilecast.tiles(PRODUCT, "tpu_v3", output=listed["output"],
                               kernel_tile=listed["kernel_tile"])
        rows = json.loads(command("tiles", "-d", "tpu_v3", "-f", "json", "--most", "5",
                                  PRODUCT))["rows"]
        again = tilecast.tiles(PRODUCT, "tpu_v3", **listed)
        self.assertEqual(list(again), list(times))
        best = numpy.sort(times)[:5]
        self.assertEqual([f"{t * 1e9:.3f}" for t in best],
                         [f"{row['estimate_ns']:.3f}" for row in rows])

    def test_every_part_of_a_tile_is_read_and_listed(self):
        parts = tilecast._TILE_PARTS
        self.assertEqual(list(tilecast.list_tiles(GPU_PRODUCT, "h100_sxm")), list(parts))
        for name in parts:
            said = tilecast.list_tiles(GPU_PRODUCT, "h100_sxm", listing="schedules",
                                       limit=4)
            count, rank = said["output"].shape
            if said[name] is None:
                one = name in ("stages", "warps", "direct", "unroll")
                said[name] = numpy.ones(count if one else (count, rank), dtype=numpy.int64)
            self.assertEqual(len(tilecast.tiles(GPU_PRODUCT, "h100_sxm", **said)), count, name)
        with self.assertRaises(TypeError):
            tilecast.tiles(PRODUCT, "tpu_v3", output=[[8, 1]], no_such=[1])

    def test_columns_are_every_field_of_the_kernels(self):
        run = tilecast.simulate(MLP, "tpu_v3", model="default")
        columns, kernels = run.columns(), run.to_dict()["kernels"]
        for name, value in kernels[0].items():
            if not isinstance(value, (dict, list)):
                self.assertEqual(list(columns[name]), [kernel[name] for kernel in kernels])
        self.assertEqual(list(columns["bounds_s.matrix"]),
                         [kernel["bounds_s"]["matrix"] for kernel in kernels])
        self.assertIn(columns["tile"][0], command("simulate", "-d", "tpu_v3", "--all", MLP))

    def test_ops_are_the_commands_rows(self):
        table = ROOT / "configs/examples/operators.csv"
        rows = json.loads(command("ops", "-d", "h100_sxm", "-f", "json", table))["rows"]
        answered = tilecast.ops(table, "h100_sxm")
        self.assertEqual(list(answered["estimate_ns"]), [row["estimate_ns"] for row in rows])
        again = tilecast.ops({"op": ["matmul"], "dtype": ["bf16"], "m": [512], "n": [512.0],
                              "k": [numpy.int64(512)]}, "h100_sxm")
        self.assertGreater(again["estimate_ns"][0], 0)

    def test_text_is_as_good_as_a_file(self):
        of_text = tilecast.Program.from_text(PRODUCT.read_text(), name="p.hlo")
        self.assertEqual(tilecast.simulate(of_text, "tpu_v3").time_s,
                         tilecast.simulate(PRODUCT, "tpu_v3").time_s)
        self.assertEqual(of_text.kernels("tpu_v3"), tilecast.Program(PRODUCT).kernels("tpu_v3"))


class Failures(unittest.TestCase):
    def test_errors_have_places(self):
        text = "HloModule m\nENTRY e {\n  ROOT a = f32[2] no_such(b)\n}\n"
        with self.assertRaises(tilecast.Error) as caught:
            tilecast.Program.from_text(text, name="bad.hlo")
        error = caught.exception
        self.assertEqual((error.file, error.line), ("bad.hlo", 3))
        self.assertGreater(error.column, 1)
        self.assertIn("no_such", str(error))

    def test_errors_without_a_place_say_none(self):
        with self.assertRaises(tilecast.Error) as caught:
            tilecast.Device("no_such_device")
        self.assertEqual((caught.exception.file, caught.exception.line), (None, None))

    def test_arrays_of_a_wrong_shape_are_errors(self):
        wrong = [dict(output=1), dict(output=[1, 2]), dict(output=[[1, 2]], kernel_tile=[[1], [2]]),
                 dict(output=[[1, 2]], stages=[5000]), dict(output=[[-1, 2]])]
        for arguments in wrong:
            with self.assertRaises((tilecast.Error, TypeError), msg=str(arguments)):
                tilecast.tiles(PRODUCT, "tpu_v3", **arguments)

    def test_tiles_that_cannot_run_are_nan(self):
        times = tilecast.tiles(PRODUCT, "tpu_v3", output=[[64, 8], [1 << 20, 1 << 20]],
                               kernel_tile=[[128, 1], [1 << 20, 1 << 20]])
        self.assertGreater(times[0], 0)
        self.assertTrue(numpy.isnan(times[1]))


class Use(unittest.TestCase):
    def test_importing_loads_no_heavy_module(self):
        code = ("import sys, tilecast; "
                "print([m for m in ('numpy', 'pandas', 'torch') if m in sys.modules])")
        out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True,
                             text=True)
        self.assertEqual(out.stdout.strip(), "[]")

    def test_a_hundred_thousand_tiles_in_one_call(self):
        listed = tilecast.list_tiles(PRODUCT, "tpu_v3")
        count = len(listed["output"])
        rows = numpy.arange(100_000) % count
        program = tilecast.Program(PRODUCT)
        device = tilecast.Device("tpu_v3")
        start = time.process_time()
        times = tilecast.tiles(program, device, output=listed["output"][rows],
                               kernel_tile=listed["kernel_tile"][rows])
        print(f"\n1e5 tiles: {time.process_time() - start:.3f} s of processor time")
        self.assertTrue((times == times[:count][rows]).all())

    def test_threads_get_the_same_answers(self):
        program, device = tilecast.Program(MLP), tilecast.Device("tpu_v3")
        model = tilecast.Model("default", device)
        expected = tilecast.simulate(program, device, model).time_s
        found = []
        threads = [threading.Thread(target=lambda: found.append(
            tilecast.simulate(program, device, model).time_s)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 8)

    def test_the_gil_is_released(self):
        ticks, done = [], threading.Event()

        def tick():
            while not done.wait(0.001):
                ticks.append(None)
        thread = threading.Thread(target=tick)
        thread.start()
        listed = tilecast.list_tiles(PRODUCT, "tpu_v3", listing="all", limit=100_000)
        before = len(ticks)
        tilecast.tiles(PRODUCT, "tpu_v3", model="default", output=listed["output"],
                       kernel_tile=listed["kernel_tile"])
        during = len(ticks) - before
        done.set()
        thread.join()
        self.assertGreater(during, 2)

    def test_frames_where_pandas_is_there(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = tilecast.simulate(MLP, "tpu_v3").to_frame()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertAlmostEqual(frame["total_s"].sum(), tilecast.simulate(MLP, "tpu_v3").time_s,
                               delta=1e-12)
        ops = tilecast.ops(pandas.DataFrame({"op": ["gelu"], "dtype": ["f32"],
                                             "elements": [4096]}), "tpu_v3")
        self.assertEqual(len(ops.to_frame()), 1)

    def test_everything_is_documented_and_has_types(self):
        for name in tilecast.__all__:
            thing = getattr(tilecast, name)
            self.assertTrue(thing.__doc__ or name == "Error", name)
            if not inspect.isfunction(thing):
                continue
            signature = inspect.signature(thing)
            self.assertNotEqual(signature.return_annotation, inspect.Signature.empty, name)
            for parameter in signature.parameters.values():
                self.assertNotEqual(parameter.annotation, inspect.Parameter.empty, name)


if __name__ == "__main__":
    unittest.main()

"""What calls return shows itself: rows by iteration, frames, text, notebooks; compare, tune and the command."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy

import tilecast
import tilecast.cache
from tilecast_test import MLP, PRODUCT, ROOT, command

SET = ROOT / "configs/measurements/example_matmul"
STUDY = ROOT / "configs/examples/next_tpu.yaml"


class Objects(unittest.TestCase):
    def test_every_result_iterates_and_shows_itself(self):
        results = [tilecast.simulate(MLP, "tpu_v3"), tilecast.tiles(PRODUCT, "tpu_v3"), tilecast.sweep(STUDY),
                   tilecast.explain(PRODUCT, "tpu_v3"), tilecast.evaluate(SET, "tpu_v3"),
                   tilecast.calibrate(SET, "tpu_v3"), tilecast.compare(PRODUCT, ["tpu_v3", "tpu_v4"]),
                   tilecast.tune(MLP, "tpu_v3")]
        for result in results:
            rows = list(result)
            self.assertEqual(len(rows), len(result), type(result))
            self.assertTrue(rows and all(rows), type(result))
            self.assertNotIn(" object at ", repr(result))
            self.assertIn("</", result._repr_html_())

    def test_frames_have_the_rows(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        for result in (tilecast.simulate(MLP, "tpu_v3"), tilecast.calibrate(SET, "tpu_v3"),
                       tilecast.compare(PRODUCT, "tpu_v3"), tilecast.tiles(PRODUCT, "tpu_v3")):
            frame = result.to_pandas()
            self.assertIsInstance(frame, pandas.DataFrame)
            self.assertEqual(len(frame), len(result))
            self.assertEqual(list(frame), list(next(iter(result))))

    def test_without_pandas_an_error_says_what_to_do(self):
        code = ("import sys; sys.modules['pandas'] = None\n"
                f"import tilecast\nrun = tilecast.simulate({str(PRODUCT)!r}, 'tpu_v3')\n"
                "print(len(list(run)))\n"
                "try:\n    run.to_pandas()\nexcept ImportError as error:\n    print(error)")
        said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        self.assertEqual(said.splitlines()[0], "1")
        self.assertIn("pip install pandas", said)

    def test_the_cache_lists_limits_and_clears_what_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            changed = {**os.environ, "TILECAST_CACHE": folder}

            def cache(*arguments):
                return subprocess.run([sys.executable, "-m", "tilecast", "cache", *arguments], check=True, text=True,
                                      capture_output=True, env=changed).stdout.splitlines()

            self.assertEqual(cache(), [f"{folder}: at most 1073.7 MB"])
            with mock.patch.dict(os.environ, changed):
                for i in range(4):
                    tilecast.cache.put("xla", str(i), "x" * 1000)
                    os.utime(os.path.join(folder, "xla", str(i)), (i, i))
                self.assertEqual(tilecast.cache.get("xla", "3"), "x" * 1000)
                self.assertEqual(tilecast.cache.get("xla", "4"), "")
                self.assertEqual(cache("--limit", "2.5kB"), [f"{folder}: at most 0.0 MB", "xla: 2 files, 0.0 MB"])
                tilecast.cache.put("xla", "5", "y" * 1000)  # the limit stays
                self.assertEqual(sorted(os.listdir(os.path.join(folder, "xla"))), ["3", "5"])
            self.assertEqual(cache("--clear"), [f"{folder}: at most 0.0 MB"])

    def test_tables_show_units_and_leave_empty_columns_out(self):
        table = tilecast.Table.of_rows([{"kernel": "a", "time_s": 1.5e-6, "fits": True, "none": None},
                                        {"kernel": "b", "time_s": 2.0, "part": {"size_bytes": 2**30}}])
        self.assertEqual(table.names, ["kernel", "time_s", "fits", "none", "part.size_bytes"])
        self.assertEqual(str(table).split()[:4], ["kernel", "time", "fits", "part.size"])
        for shown in ("1.500 us", "2.000 s", "yes", "1 GiB"):
            self.assertIn(shown, str(table))
        self.assertTrue(numpy.isnan(table["none"]).all())
        self.assertEqual(table.to_csv().splitlines()[0], "kernel,time_s,fits,none,part.size_bytes")
        long = repr(tilecast.Table({f"column_{i}": [i] * 50 for i in range(60)}))
        self.assertIn("30 more rows", long)
        self.assertIn("more columns", long)
        self.assertLess(max(map(len, long.splitlines()[:20])), 161)

    def test_tiles_without_arrays_are_the_table(self):
        self.assertEqual(list(tilecast.tiles(PRODUCT, "tpu_v3")), list(tilecast.tile_table(PRODUCT, "tpu_v3")))
        arrays = tilecast.list_tiles(PRODUCT, "tpu_v3")
        self.assertIsInstance(tilecast.tiles(PRODUCT, "tpu_v3", **arrays), numpy.ndarray)

    def test_models_are_read_once_until_their_files_change(self):
        device = tilecast.Device("tpu_v3")
        first = tilecast.Model("default", device)
        self.assertIs(tilecast.Model("default", "tpu_v3")._core, first._core)
        self.assertIsNot(tilecast.Model("default", tilecast.Device("tpu_v3", ["clock=1GHz"]))._core, first._core)

    def test_python_errors_have_no_place(self):
        self.assertIsNone(tilecast.Error("x").file)


class Commands(unittest.TestCase):
    def test_compare_is_the_commands_json_and_text(self):
        arguments = ["compare", "-d", "tpu_v3", "--model", "roofline", "--model", "default", MLP]
        found = tilecast.compare(MLP, "tpu_v3", model=["roofline", "default"])
        self.assertEqual(found.to_dict(), json.loads(command(*arguments, "-f", "json")))
        self.assertEqual(str(found), command(*arguments))
        self.assertEqual({row["side"] for row in found}, {"roofline", "default"})
        changed = tilecast.compare(MLP, tilecast.Device("tpu_v3", {"clock": "1 GHz"}))
        self.assertEqual(str(changed), command("compare", "-d", "tpu_v3", "--set", "clock=1 GHz", MLP))

    def test_tune_is_the_commands_json(self):
        found = tilecast.tune(MLP, "tpu_v3", "fusion", costs=20, seed=3)
        self.assertEqual(found.to_dict(), json.loads(command("tune", "fusion", "-d", "tpu_v3", "--costs", 20,
                                                             "--seed", 3, "-f", "json", MLP)))
        self.assertEqual([row["program"] for row in found], ["rules", "best"])
        with tempfile.TemporaryDirectory() as folder:
            trials = pathlib.Path(folder) / "trials.csv"
            found = tilecast.tune(PRODUCT, "tpu_v3", "tiles", measure="echo 172 us", trials=3, output=trials)
            self.assertEqual(len(found), 3)
            self.assertEqual(len(trials.read_text().splitlines()), 4)

    def test_what_the_command_refuses_is_an_error(self):
        for call, said in ((lambda: tilecast.compare("no_such.hlo", "tpu_v3"), "no_such.hlo"),
                           (lambda: tilecast.compare(PRODUCT, "tpu_v3", no_such=3), "--no-such"),
                           (lambda: tilecast.tune(PRODUCT, "tpu_v33"), "did you mean"),
                           (lambda: tilecast.compare(PRODUCT, [tilecast.Device("tpu_v3", ["clock=1GHz"]), "tpu_v3"]),
                            "different changes")):
            with self.assertRaises(tilecast.Error) as caught:
                call()
            self.assertIn(said, str(caught.exception))

    def test_python_m_tilecast_is_the_command(self):
        asked = ["simulate", "-d", "tpu_v3", str(PRODUCT)]
        said = subprocess.run([sys.executable, "-m", "tilecast", *asked], capture_output=True, text=True)
        theirs = subprocess.run([os.environ["TILECAST_BINARY"], *asked], capture_output=True, text=True)
        self.assertEqual((said.stdout, said.returncode), (theirs.stdout, 0))
        wrong = subprocess.run([sys.executable, "-m", "tilecast", "nonsense"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)


if __name__ == "__main__":
    unittest.main()

"""The scripts of validation/sets create the sets described in docs/measurements.md, and report
errors in files. Public files are tested as well if available."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("TILECAST_SHARED", ROOT / "../shared")) / "data"


class Scripts(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def make(self, script, *arguments):
        return subprocess.run(
            [sys.executable, "-B", ROOT / "validation/sets" / script, "-o", self.folder / "set",
             *arguments], capture_output=True, text=True, check=False)

    def made(self, file):
        return (self.folder / "set" / file).read_text()

    def refusal(self, script, *arguments):
        done = self.make(script, *arguments)
        self.assertEqual(done.returncode, 1)
        self.assertFalse((self.folder / "set").exists())
        return done.stderr


def unit_key(x, weights, residuals=False):
    return {"x": x, "weights": weights, "activation": "jax._src.nn.functions.silu",
            "precision": "BF16_BF16_F32", "return_residuals": residuals}


class Tokamax(Scripts):
    def cache(self, *rows):
        lines = ["device,op,key_json,median_ms"]
        for device, op, key, time in rows:
            text = key if isinstance(key, str) else json.dumps(key)
            lines.append(f'{device},{op},"{text.replace(chr(34), chr(34) * 2)}",{time}')
        file = self.folder / "runs.csv"
        file.write_text("\n".join(lines) + "\n")
        return file

    def entry(self, op, key, device="tpu_v5"):
        """The shapes of the results of the program for the key."""
        done = self.make("tokamax", "--force", self.cache((device, op, key, 0.5)))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = self.made(f"programs/{op}_1.hlo").split("ENTRY main {\n")[1].splitlines()
        shapes = [line.replace("ROOT ", "").split()[2] for line in lines if " = " in line]
        return [shape for shape, line in zip(shapes, lines)
                if " parameter(" not in line and " tuple(" not in line]

    def test_a_gated_linear_unit_on_a_tpu_keeps_its_product_wide_and_copies_its_halves(self):
        for x, weights, residuals, shapes in (
                ("bf16[64,32,128]", "bf16[128,2,256]", False,
                 ["f32[2048,512]", "bf16[2048,512]", "bf16[2048,256]"]),
                ("f32[2048,128]", "f32[128,2,256]", False,
                 ["f32[2048,512]", "f32[2048,512]", "f32[2048,256]"]),
                ("bf16[1,64,32,128]", "bf16[128,2,256]", False,
                 ["f32[2048,512]", "bf16[2048,256]"]),
                ("bf16[1,64,32,128]", "bf16[128,2,256]", True,
                 ["f32[2048,512]", "bf16[2048,512]", "bf16[2048,256]"])):
            self.assertEqual(self.entry("gated_linear_unit", unit_key(x, weights, residuals)),
                             shapes)

    def test_on_a_gpu_the_product_has_the_type_of_its_operands_and_f32_is_narrowed_first(self):
        card = "nvidia_h100_80gb_hbm3"
        key = unit_key("bf16[64,32,128]", "bf16[128,2,256]")
        self.assertEqual(self.entry("gated_linear_unit", key, card),
                         ["bf16[2048,512]", "bf16[2048,256]"])
        key = unit_key("f32[2048,128]", "f32[128,2,256]")
        self.assertEqual(self.entry("gated_linear_unit", key, card),
                         ["bf16[2048,128]", "bf16[128,512]", "f32[2048,512]", "f32[2048,256]"])

    def test_a_normalisation_stands_as_its_ops(self):
        key = {"x": "bf16[64,96,128]", "scale": "f32[128]", "offset": None, "axis": -1,
               "subtract_mean": True, "return_residuals": True}
        shapes = self.entry("normalization", key)
        self.assertEqual(shapes.count("f32[64,96]"), 8)
        self.assertEqual(shapes[-1], "bf16[64,96,128]")
        text = self.made("programs/normalization_1.hlo")
        self.assertIn("reduce(squares, zero), dimensions={2}", text)
        self.assertIn("tuple(out, mean, deviation)", text)
        # Tilecast can read the text.
        if binary := os.environ.get("TILECAST_BINARY"):
            subprocess.run([binary, "simulate", "-d", "tpu_v5p",
                            self.folder / "set/programs/normalization_1.hlo"],
                           check=True, capture_output=True)

    def test_of_equal_keys_the_fastest_counts_and_others_are_listed(self):
        key = unit_key("bf16[64,128]", "bf16[128,2,256]")
        cache = self.cache(("tpu_v5", "gated_linear_unit", key, 0.5),
                           ("tpu_v5", "gated_linear_unit", key, 0.25),
                           ("nvidia_h100_80gb_hbm3", "gated_linear_unit", key, 0.125),
                           ("tpu_v9", "gated_linear_unit", key, 0.5),
                           ("tpu_v5", "ragged_dot", key, 0.5),
                           ("nvidia_h100_80gb_hbm3", "normalization", key, 0.5))
        self.assertEqual(self.make("tokamax", cache).stdout.splitlines()[1:],
                         ["left out: device tpu_v9: 1", "left out: normalization on a GPU: 1",
                          "left out: op ragged_dot: 1",
                          "left out: slower than a run of the same key: 1"])
        self.assertEqual(self.made("measurements.csv"),
                         "program,device,class,runtime_ns\n"
                         "programs/gated_linear_unit_1.hlo,tpu_v5,gated_linear_unit,250000.0\n"
                         "programs/gated_linear_unit_2.hlo,nvidia_h100_80gb_hbm3,"
                         "gated_linear_unit,125000.0\n")
        self.assertIn('devices:\n  "nvidia_h100_80gb_hbm3": "h100_sxm"\n  "tpu_v5": "tpu_v5p"\n',
                      self.made("manifest.yaml"))
        self.assertIn("--force replaces it", self.make("tokamax", cache).stderr)
        self.assertEqual(self.make("tokamax", "--force", cache).returncode, 0)

    def test_files_beside_a_set_are_never_lost(self):
        cache = self.cache(("tpu_v5", "gated_linear_unit", unit_key("bf16[4,4]", "bf16[4,2,8]"), 1))
        self.make("tokamax", cache)
        notes = self.folder / "set/programs/notes.txt"
        notes.write_text("mine")
        done = self.make("tokamax", "--force", cache)
        self.assertEqual(done.returncode, 1)
        self.assertIn("set: holds 'programs/notes.txt', which is no file of the set", done.stderr)
        self.assertEqual(notes.read_text(), "mine")
        notes.unlink()
        self.assertEqual(self.make("tokamax", "--force", cache).returncode, 0)

    def test_keys_and_times_that_are_damaged_say_where(self):
        whole = unit_key("bf16[4,4]", "bf16[4,2,8]")
        for key, time, message in (
                ("{", 1, "runs.csv:2: the key is no JSON object"),
                ({"x": "bf16[4,4]"}, 1, "key 'activation': expected it to be there"),
                ({**whole, "x": "bf16"}, 1, "key 'x': expected an array"),
                ({**whole, "x": "bf16[4,0]"}, 1, "key 'x': expected extents of at least 1"),
                ({**whole, "x": "bf16[4]"}, 1, "key 'x': expected at least 2 extents"),
                (whole, "nan", "column 'median_ms': got 'nan'"),
                (whole, 0, "column 'median_ms': got '0', expected a time above zero")):
            cache = self.cache(("tpu_v5", "gated_linear_unit", key, time))
            self.assertIn(message, self.refusal("tokamax", cache))
        kept = self.make("tokamax", "--keep-going",
                         self.cache(("tpu_v5", "gated_linear_unit", whole, 0),
                                    ("tpu_v5", "gated_linear_unit", whole, 1)))
        self.assertEqual(kept.returncode, 0)
        self.assertIn("left out: ", kept.stderr)


if __name__ == "__main__":
    unittest.main()

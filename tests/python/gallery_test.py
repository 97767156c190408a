"""Every script of configs/examples/python runs and draws a figure, if matplotlib is installed."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "configs/examples/python"


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
class Gallery(unittest.TestCase):
    def test_every_script_draws_its_figure(self):
        scripts = [script for script in sorted(SCRIPTS.glob("*.py")) if script.name != "plots.py"]
        self.assertEqual(len(scripts), 6)
        with tempfile.TemporaryDirectory() as folder:
            for script in scripts:
                out = pathlib.Path(folder) / f"{script.stem}.png"
                done = subprocess.run([sys.executable, "-B", script, out], capture_output=True,
                                      text=True)
                self.assertEqual(done.returncode, 0, f"{script.name}: {done.stderr}")
                self.assertTrue(done.stdout, script.name)
                self.assertTrue(out.read_bytes().startswith(b"\x89PNG"), script.name)

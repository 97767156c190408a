"""Every notebook of configs/examples/gallery runs, as it is stored: without outputs, pandas or Jupyter."""
import ast
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import unittest

GALLERY = pathlib.Path(__file__).resolve().parents[2] / "configs/examples/gallery"


def run(notebook):
    """Runs the code cells as Jupyter does; returns what each prints or ends with."""
    names, shown = {"__name__": "__main__"}, []
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(ast.Module(body, []), notebook.name, "exec"), names)
            value = None if last is None else eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)
        shown.append(printed.getvalue() + ("" if value is None else repr(value)))
    return shown


class Gallery(unittest.TestCase):
    def test_notebooks_are_small_and_hold_no_outputs(self):
        notebooks = sorted(GALLERY.glob("*.ipynb"))
        self.assertGreaterEqual(len(notebooks), 10)
        for notebook in notebooks:
            cells = json.loads(notebook.read_text())["cells"]
            self.assertTrue("".join(cells[0]["source"]).split("\n")[0].endswith("?"), notebook.name)
            self.assertLessEqual(len(notebook.read_text().splitlines()), 40, notebook.name)
            for cell in cells:
                self.assertFalse(cell.get("outputs") or cell.get("execution_count"), notebook.name)

    def test_every_notebook_runs_and_every_cell_answers(self):
        for notebook in sorted(GALLERY.glob("*.ipynb")):
            done = subprocess.run([sys.executable, "-B", __file__, notebook], cwd=GALLERY, capture_output=True,
                                  text=True, env={**os.environ, "PYTHONWARNINGS": "error"})
            self.assertEqual(done.returncode, 0, f"{notebook.name}: {done.stderr}")
            for shown in json.loads(done.stdout):
                self.assertTrue(shown.strip(), notebook.name)
                self.assertNotIn("nan", shown.split(), notebook.name)


if __name__ == "__main__" and len(sys.argv) == 2 and sys.argv[1].endswith(".ipynb"):
    sys.modules["pandas"] = None  # what a clean clone lacks
    print(json.dumps(run(pathlib.Path(sys.argv[1]))))
elif __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The pages of `tilecast report` at the widths of a desk and of a phone: nothing is wider than the
page, no text of a plot leaves its panel or lies on another, and every plot has a name.

    report_pages_test.py TILECAST
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from browser import Browser, has_browser  # noqa: E402

TILECAST = sys.argv.pop(1)
TRAIN = "configs/programs/small_transformer_train.hlo"
SET = "configs/measurements/example_matmul"
STUDY = f"""format: tilecast.study/1
name: three
devices: [tpu_v5e, tpu_v4, h100_sxm]
programs: [{ROOT}/configs/programs/mlp_train.hlo, {ROOT}/{TRAIN}]
models: [analytical]
axes:
  hbm.bandwidth: {{log: [819 GB/s, 3.2 TB/s], points: 3}}
  clock: {{range: [1.2 GHz, 1.8 GHz], points: 2}}
objectives: [timeline_s, hbm.bandwidth]
"""
RESULTS = {  # name, arguments, kinds of the views
    "runs": (["simulate", "-d", "tpu_v3", "-d", "h100_sxm", TRAIN],
             ["difference", "simulation", "simulation"]),
    "difference": (["compare", "-d", "tpu_v3", "--with", "hbm.bandwidth=900GB/s", TRAIN],
                   ["difference"]),
    "measured": (["compare", "-d", "tpu_v3", SET], ["paired"]),
    "models": (["compare", "-d", "tpu_v3", "--model", "analytical", "--model", "roofline", TRAIN],
               ["paired"]),
    "constants": (["calibrate", "-d", "tpu_v3", SET], ["tables"]),
    "scores": (["evaluate", "-d", "tpu_v3", SET], ["scores"]),
    "sensitivity": (["sensitivity", "-d", "tpu_v3", TRAIN], ["tables"]),
    "study": (["sweep", "three.yaml"], ["study"]),
    "slices": (["sweep", "configs/examples/slices.yaml"], ["study"]),
}
# What is wrong on the tab that is shown, a line each.
LOOK = """(() => {
  let texts_seen = 0;
  const faults = [], shown = document.querySelector("main > [role=tabpanel]:not([hidden])");
  const name = (node) => `${node.tagName} '${node.textContent.slice(0, 60)}'`;
  if (document.documentElement.scrollWidth > innerWidth) faults.push("wider than the page");
  for (const panel of shown.querySelectorAll(".panel, .card")) {
    const frame = panel.getBoundingClientRect();
    for (const node of panel.querySelectorAll("svg text, p, h2, button, label, li, dd, b")) {
      const box = node.getBoundingClientRect();
      if (box.width === 0 || node.closest(".scroll")) continue;
      if (box.left < frame.left || box.right > frame.right + 0.5) faults.push(`${name(node)} leaves its panel`);
    }
  }
  for (const svg of shown.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent && !text.closest("[transform*=rotate]"));
    texts_seen += texts.length;
    const boxes = texts.map((text) => text.getBoundingClientRect());
    boxes.forEach((a, i) => boxes.slice(0, i).forEach((b, j) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 3) faults.push(`${name(texts[i])} on ${name(texts[j])}`);
    }));
  }
  for (const plot of shown.querySelectorAll("[role=img]")) if (!plot.getAttribute("aria-label")) faults.push("a plot without a name");
  for (const bar of shown.querySelectorAll("svg.bars")) if (!bar.querySelector("rect")) faults.push("an empty plot");
  if (texts_seen < 3) faults.push("hardly a text on any plot");
  return {kind: shown.dataset.kind, faults};
})()"""


@unittest.skipUnless(has_browser(), "no chromium")
class Pages(unittest.TestCase):
    def test_every_tab_fits_a_desk_and_a_phone(self):
        with tempfile.TemporaryDirectory() as scratch, Browser() as browser:
            folder = pathlib.Path(scratch)
            (folder / "three.yaml").write_text(STUDY)
            for name, (arguments, kinds) in RESULTS.items():
                page = folder / f"{name}.html"
                arguments = [str(folder / each) if each == "three.yaml" else each
                             for each in arguments]
                result = folder / f"{name}.json"
                for command, out in (([*arguments, "-f", "json"], result),
                                     (["report", result, "-o", page], folder / "nothing")):
                    with out.open("w") as file:
                        done = subprocess.run([TILECAST, *map(str, command)], cwd=ROOT, text=True,
                                              stdout=file, stderr=subprocess.PIPE)
                    if "node-d3" in done.stderr:
                        self.skipTest(done.stderr)
                    self.assertEqual(done.returncode, 0, done.stderr)
                for width in (1280, 390):
                    for tab, kind in enumerate(kinds, 1):
                        with self.subTest(page=name, tab=tab, width=width):
                            browser.open(f"{page.as_uri()}#{tab}", width, 900)
                            self.assertEqual(browser.value(LOOK), {"kind": kind, "faults": []})
                            self.assertEqual(browser.faults, [])


if __name__ == "__main__":
    unittest.main()

"""evaluate, calibrate, train, sweep and tile_table give the same results as the command."""
import concurrent.futures
import csv
import io
import json
import math
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import tilecast
from tilecast_test import PRODUCT, ROOT, command

SET = ROOT / "configs/measurements/example_matmul"
STUDY = ROOT / "configs/examples/next_tpu.yaml"


def numbers(cells):
    """Cells of the command's CSV as in Table; a list of texts if one is not a number."""
    try:
        return [float(cell) if cell else math.nan for cell in cells]
    except ValueError:
        return list(cells)


class Studies(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_rows(self, table, text):
        rows = list(csv.reader(io.StringIO(text)))
        self.assertGreater(len(rows), 1)
        self.assertEqual(table.names, rows[0])
        for i, name in enumerate(table.names):
            found, expected = list(table[name]), numbers([row[i] for row in rows[1:]])
            self.assertEqual(len(found), len(expected))
            for one, other in zip(found, expected):
                same = one == other or (one != one and other != other)
                self.assertTrue(same, f"{name}: {one!r}, {other!r}")

    def test_sweep_is_the_commands_csv(self):
        table = tilecast.sweep(STUDY, jobs=2)
        self.assert_rows(table, command("sweep", STUDY, "-f", "csv"))
        self.assert_rows(tilecast.sweep(STUDY, front=True),
                         command("sweep", STUDY, "-f", "csv", "--front"))
        self.assert_rows(tilecast.sweep(STUDY, pareto=["time_s", "-peak_tflops"]),
                         command("sweep", STUDY, "-f", "csv", "--pareto", "time_s,-peak_tflops"))

    def test_a_sweep_goes_on_with_its_journal(self):
        journal = self.folder / "journal"
        whole = tilecast.sweep(STUDY, journal=journal)
        again = tilecast.sweep(STUDY, journal=journal, resume=True)
        self.assertEqual(list(map(repr, whole["time_s"])), list(map(repr, again["time_s"])))
        with self.assertRaisesRegex(tilecast.Error, "journal"):
            tilecast.sweep(STUDY, resume=True)
        with self.assertRaisesRegex(tilecast.Error, "exists"):
            tilecast.sweep(STUDY, journal=journal)
        parts = sorted(journal.glob("*-*.csv"))
        self.assertGreater(len(parts), 2)
        parts[0].unlink(), parts[-1].unlink()
        kept = {part: part.stat().st_mtime_ns for part in parts[1:-1]}
        table = tilecast.sweep(STUDY, journal=journal, resume=True)
        self.assert_rows(table, command("sweep", STUDY, "-f", "csv"))
        self.assertEqual({part: part.stat().st_mtime_ns for part in kept}, kept)
        other = self.folder / "other.yaml"
        other.write_text(STUDY.read_text().replace("../programs", f"{ROOT}/configs/programs").replace("400", "390"))
        with self.assertRaisesRegex(tilecast.Error, "of another study"):
            tilecast.sweep(other, journal=journal, resume=True)

    def assert_same_bytes(self, **options):
        """By the client's workers as by the command."""
        for name, more, choice in (("all.csv", {}, []), ("front.csv", {"front": True}, ["--front"])):
            path = tilecast.sweep(STUDY, output=self.folder / name, **more, **options)
            self.assertEqual(pathlib.Path(path).read_text(), command("sweep", STUDY, "-f", "csv", *choice))
            self.assertEqual(list(self.folder.glob("*.journal")), [])

    def test_threads_and_processes_give_the_commands_bytes(self):
        self.assert_same_bytes(jobs=2)
        with concurrent.futures.ProcessPoolExecutor(2) as client:
            self.assert_same_bytes(client=client)

    def test_workers_of_dask_give_the_commands_bytes(self):
        try:
            import distributed
        except ImportError:
            self.skipTest("dask.distributed is not installed")
        with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
            self.assert_same_bytes(client=client)

    def test_workers_of_ray_give_the_commands_bytes(self):
        try:
            import ray
        except ImportError:
            self.skipTest("ray is not installed")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        self.addCleanup(ray.shutdown)
        self.assert_same_bytes(client=ray)

    def test_what_was_done_before_a_failure_stays(self):
        class Failing(concurrent.futures.ThreadPoolExecutor):
            left = 5

            def submit(self, function, *arguments):
                self.left -= 1
                if self.left < 0:
                    return super().submit(lambda: 1 / 0)
                return super().submit(function, *arguments)

        journal = self.folder / "journal"
        with Failing(1) as client, self.assertRaises(ZeroDivisionError):
            tilecast.sweep(STUDY, client=client, journal=journal)
        self.assertEqual(len(list(journal.glob("*-*.csv"))), 5)
        self.assert_rows(tilecast.sweep(STUDY, journal=journal, resume=True),
                         command("sweep", STUDY, "-f", "csv"))

    def test_a_worker_refuses_another_study_of_that_name(self):
        with self.assertRaisesRegex(tilecast.Error, "another study"):
            tilecast.studies._rows(str(STUDY), "0123", 0, 1)

    def test_parquet_where_pyarrow_is_there(self):
        path = self.folder / "points.parquet"
        try:
            import pandas
            import pyarrow  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(tilecast.Error, "pyarrow"):
                tilecast.sweep(STUDY, output=path)
            return
        frame = pandas.read_parquet(tilecast.sweep(STUDY, output=path))
        self.assertEqual(frame["point"].dtype.kind, "i")
        self.assert_rows(tilecast.Table({name: frame[name].to_list() for name in frame}),
                         command("sweep", STUDY, "-f", "csv"))

    def test_ctrl_c_ends_a_sweep(self):
        study = self.folder / "long.yaml"
        study.write_text(textwrap.dedent(f"""\
            format: tilecast.study/1
            name: long
            devices: [tpu_v5e]
            programs: [{ROOT}/configs/programs/small_transformer_train.hlo]
            models: [analytical]
            axes:
              clock: {{range: [1 GHz, 2 GHz], points: 1000}}
              hbm.bandwidth: {{range: [1 TB/s, 2 TB/s], points: 1000}}
            """))
        code = ("import tilecast\n"
                "try:\n"
                "    print('begins', flush=True)\n"
                f"    tilecast.sweep({str(study)!r})\n"
                "except KeyboardInterrupt:\n"
                "    print('ended')\n")
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                              text=True) as process:
            self.assertEqual(process.stdout.readline(), "begins\n")
            time.sleep(1)  # a million points take longer
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.communicate(timeout=60)[0], "ended\n")

    def test_tile_tables_are_the_commands_csv(self):
        for model in ("analytical", "default"):
            expected = command("tiles", "-d", "tpu_v3", "--model", model, PRODUCT)
            self.assert_rows(tilecast.tile_table(PRODUCT, "tpu_v3", model=model), expected)
        tiles = ROOT / "configs/examples/tiles.csv"
        expected = command("tiles", "-d", "tpu_v3", PRODUCT, tiles)
        of_file = tilecast.tile_table(PRODUCT, "tpu_v3", table=tiles)
        self.assert_rows(of_file, expected)
        with open(tiles, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        self.assert_rows(tilecast.tile_table(PRODUCT, "tpu_v3", table=columns), expected)
        fastest = tilecast.tile_table(PRODUCT, "tpu_v3", table=tiles, most=1)
        self.assertEqual(fastest["estimate_ns"][0], min(of_file["estimate_ns"]))

    def test_evaluate_is_the_commands_json_and_rows(self):
        expected = command("evaluate", "-d", "tpu_v3", "-f", "json", "--rows",
                           self.folder / "rows.csv", "--by", "class,kernel", SET)
        found = tilecast.evaluate(SET, "tpu_v3", by=["class", "kernel"])
        self.assertEqual(found.to_dict(), json.loads(expected))
        self.assert_rows(found.rows(), (self.folder / "rows.csv").read_text())
        self.assert_rows(found.scores(), command("evaluate", "-d", "tpu_v3", "-f", "csv", "--by",
                                                 "class,kernel", SET))
        self.assertEqual(str(found), command("evaluate", "-d", "tpu_v3", "--by", "class,kernel",
                                             SET))

    def test_calibrate_is_the_commands_json_and_description(self):
        expected = command("calibrate", "-d", "tpu_v3", "-f", "json", "-o",
                           self.folder / "theirs.yaml", "--name", "mine", SET)
        found = tilecast.calibrate([SET], "tpu_v3", output=self.folder / "mine.yaml", name="mine")
        self.assertTrue(found.accepted)
        self.assertEqual(found.to_dict(), json.loads(expected))
        self.assertEqual((self.folder / "mine.yaml").read_bytes(),
                         (self.folder / "theirs.yaml").read_bytes())
        self.assertEqual(tilecast.Device(found.file).name, "mine")
        self.assertIn("rows", found.notes[0])

    def test_calibrate_refuses_what_the_command_refuses(self):
        with self.assertRaisesRegex(tilecast.Error, "did you mean 'matrix'"):
            tilecast.calibrate(SET, "tpu_v3", fix=["matirx"])
        with self.assertRaisesRegex(tilecast.Error, "measured on 'tpu_v3'"):
            tilecast.calibrate(SET, "h100_sxm")
        changed = tilecast.Device("tpu_v3", set={"hbm.bandwidth": "1.2TB/s"})
        with self.assertRaisesRegex(tilecast.Error, "would lose the changes"):
            tilecast.calibrate(SET, changed, output=self.folder / "mine.yaml")

    def experiment(self):
        file = self.folder / "e.yaml"
        file.write_text(textwrap.dedent(f"""\
            format: tilecast.experiment/1
            name: e
            claim: It learns.
            device: tpu_v3
            data: [{{name: example, importer: set, from: {SET}}}]
            split: {{kind: held_out_works, share: 25 %, seeds: 3}}
            learners:
              - {{name: trees, model: xgboost, features: [static, shape], trees: 20}}
            columns: [analytical, trees]
            metrics: [mape]
            """))
        return file

    def test_train_makes_the_commands_model(self):
        theirs, mine = self.folder / "theirs", self.folder / "mine"
        experiment = self.experiment()
        expected = json.loads(command("train", experiment, "--out", theirs, "-f", "json"))
        found = tilecast.train(experiment, mine)
        answer = found.to_dict()
        for key in ("seconds", "directory"):
            expected.pop(key), answer.pop(key)
        self.assertEqual(answer, expected)
        self.assertEqual(tilecast.simulate(PRODUCT, "tpu_v3", model=mine).time_s,
                         tilecast.simulate(PRODUCT, "tpu_v3", model=theirs).time_s)
        scored = tilecast.evaluate(SET, "tpu_v3", models=["analytical", mine])
        self.assertEqual(len(scored.to_dict()["models"]), 2)
        with self.assertRaisesRegex(tilecast.Error, "exists"):
            tilecast.train(experiment, mine)

    def test_errors_of_experiments_and_studies_have_places(self):
        bad = self.folder / "bad.yaml"
        for text, call in (
                ("format: tilecast.experiment/1\nnmae: e\n", lambda: tilecast.train(bad, "m")),
                ("format: tilecast.study/1\nnmae: e\n", lambda: tilecast.sweep(bad))):
            bad.write_text(text)
            with self.assertRaises(tilecast.Error) as caught:
                call()
            self.assertEqual((caught.exception.file, caught.exception.line), (str(bad), 2))

    def test_numbers_out_of_range_are_errors(self):
        for call in (lambda: tilecast.sweep(STUDY, jobs=0),
                     lambda: tilecast.evaluate(SET, "tpu_v3", draws=0),
                     lambda: tilecast.evaluate([], "tpu_v3"),
                     lambda: tilecast.evaluate(SET, "tpu_v3", by=["colour"]),
                     lambda: tilecast.calibrate(SET, "tpu_v3", rows=1)):
            with self.assertRaises(tilecast.Error):
                call()

    def test_frames_where_pandas_is_there(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = tilecast.sweep(STUDY).to_frame()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertGreater(frame["time_s"].min(), 0)
        scores = tilecast.evaluate(SET, "tpu_v3").to_frame()
        self.assertIn("mape", set(scores["metric"]))
        constants = tilecast.calibrate(SET, "tpu_v3").constants()
        self.assertIn("matrix", set(constants["name"]))
        self.assertGreater(len(tilecast.tile_table(PRODUCT, "tpu_v3").to_frame()), 0)


if __name__ == "__main__":
    unittest.main()

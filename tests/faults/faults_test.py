#!/usr/bin/env python3
"""Faults of disks, pipes, clocks and other processes: the command ends with an error that names the
file, and leaves no incomplete files.

    faults_test.py TILECAST [unittest arguments]
"""
import gzip
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "configs/programs/mlp_train.hlo"
PRODUCT = ROOT / "configs/examples/product.hlo"
MEASURED = ROOT / "configs/measurements/example_matmul"
TILECAST = None


class Faults(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="tilecast_faults_")
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def run_it(self, *arguments, **options):
        return subprocess.run([TILECAST, *map(str, arguments)], cwd=self.folder, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=280, **options)

    def expect_error(self, done, *parts):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(any(line.startswith("error: ") for line in done.stderr.splitlines()),
                        done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def small_disk(self, kibibytes):
        disk = self.folder / "disk"
        disk.mkdir()
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", disk],
                              capture_output=True)
        if made.returncode != 0:
            self.skipTest("cannot mount a small tmpfs here")
        self.addCleanup(subprocess.run, ["umount", disk], capture_output=True)
        return disk


# A short run of every verb that writes its result to standard output.
ANSWERS = [["simulate", "-d", "tpu_v3", PROGRAM], ["explain", "-d", "tpu_v3", PRODUCT],
           ["kernels", PROGRAM], ["convert", PROGRAM, "-o", "-"], ["hw", "list"],
           ["hw", "show", "tpu_v3"], ["hw", "check", "tpu_v3"], ["hw", "diff", "tpu_v2", "tpu_v3"],
           ["ops", "-d", "tpu_v3", ROOT / "configs/examples/operators.csv"],
           ["sensitivity", "-d", "tpu_v3", PROGRAM], ["tiles", "-d", "tpu_v3", PRODUCT],
           ["advise", "-d", "cpu_generic", "--unroll", "1,2", PRODUCT],
           ["features", "-d", "tpu_v3", PRODUCT], ["evaluate", "-d", "tpu_v3", MEASURED],
           ["calibrate", "-d", "tpu_v3", MEASURED],
           ["tune", "tiles", "-d", "tpu_v3", "--measure", "echo 1 us", "--trials", "1", PRODUCT],
           ["tune", "fusion", "-d", "tpu_v3", "--costs", "5", PROGRAM],
           ["tune", "program", "-d", "tpu_v3", PRODUCT], ["--help"], ["--version"], ["--help-json"],
           ["simulate", "--help"], ["tune", "tiles", "--help"]]


class Streams(Faults):
    def test_an_answer_that_cannot_be_written_is_an_error_of_every_verb(self):
        for arguments in ANSWERS:
            with self.subTest(arguments), open("/dev/full", "w") as full:
                done = subprocess.run([TILECAST, *map(str, arguments)], text=True, stdout=full,
                                      stderr=subprocess.PIPE, cwd=self.folder)
                self.expect_error(done, "stdout", "No space left")

    def test_streams_that_are_closed_end_nothing_by_a_signal(self):
        product, gone = str(PRODUCT), "gone.hlo"
        for closed in ("<&-", ">&-", "2>&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
            for file, code in ((product, 1 if ">&-" in closed.replace("2>&-", "") else 0), (gone, 1)):
                shell = f'exec "$0" simulate -d tpu_v3 "$1" {closed}'
                done = subprocess.run(["/bin/sh", "-c", shell, TILECAST, file], capture_output=True,
                                      cwd=self.folder)
                self.assertEqual(done.returncode, code, (closed, file))

    def test_a_file_takes_no_closed_streams_place(self):
        shell = 'exec "$0" simulate -d tpu_v3 "$1" -o out.txt <&- >&- 2>&-'
        done = subprocess.run(["/bin/sh", "-c", shell, TILECAST, PRODUCT], cwd=self.folder)
        self.assertEqual(done.returncode, 0)
        self.assertEqual((self.folder / "out.txt").read_text(),
                         self.run_it("simulate", "-d", "tpu_v3", PRODUCT).stdout)


class Modules(Faults):
    def test_are_looked_for_beside_the_program_and_where_they_are_said_to_be(self):
        moved = self.folder / "bin/tilecast"
        moved.parent.mkdir()
        shutil.copy(TILECAST, moved)
        beside = TILECAST.parent / "libtilecast_serve.so"
        if not beside.exists():
            self.skipTest("a build without serve")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TILECAST_")}

        def has_serve(**more):
            done = subprocess.run([moved, "serve", "--help"], capture_output=True, text=True,
                                  env=environment | more)
            return done.returncode == 0 and "--body-bytes" in done.stdout

        self.assertFalse(has_serve())  # not in the build tree
        self.assertTrue(has_serve(TILECAST_MODULES=str(beside.parent)))
        self.assertTrue(has_serve(TILECAST_SERVE_MODULE=str(beside)))
        self.assertFalse(has_serve(TILECAST_MODULES=str(self.folder)))
        for folder in ("bin", "lib/tilecast"):
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
            there = self.folder / folder / beside.name
            shutil.copy(beside, there)
            self.assertTrue(has_serve(), folder)
            there.unlink()


class Bombs(Faults):
    """Inputs that expand a lot are rejected in bounded memory."""
    MOST_KB = 1_500_000

    def expect_small_refusal(self, *arguments):
        err = self.folder / "err"
        with open(err, "w") as to_err:
            process = subprocess.Popen([TILECAST, *map(str, arguments)], stdout=subprocess.DEVNULL,
                                       stderr=to_err)
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 1, err.read_text())
        self.assertIn("limit of", err.read_text())
        self.assertLess(used.ru_maxrss, self.MOST_KB)

    def test_packed_zeros(self):
        bomb = self.folder / "bomb.hlo.gz"
        with gzip.open(bomb, "wb") as out:
            out.write(b"HloModule m\n\nENTRY e {\n  ROOT a = f32[8] parameter(0)\n}\n")
            for _ in range(3000):
                out.write(bytes(1 << 20))
        self.expect_small_refusal("simulate", "-d", "tpu_v3", bomb)

    def test_a_device_without_an_end(self):
        self.expect_small_refusal("simulate", "-d", "tpu_v3", "/dev/zero")
        self.expect_small_refusal("ops", "-d", "tpu_v3", "/dev/zero")

    def test_a_hole_in_a_disk(self):
        hole = self.folder / "hole.hlo"
        with open(hole, "w") as out:
            out.truncate(20 << 30)
        self.expect_small_refusal("simulate", "-d", "tpu_v3", hole)


class FullDisk(Faults):

    def test_a_full_disk_leaves_no_part_of_a_table(self):
        disk = self.small_disk(8)
        done = self.run_it("simulate", "-d", "tpu_v3", PROGRAM, "-f", "json", "-o", disk / "a.json")
        self.expect_error(done, "a.json", "No space left")
        self.assertEqual(list(disk.iterdir()), [])

    def test_a_full_disk_leaves_no_part_of_a_set(self):
        disk = self.small_disk(64)
        rows = "".join(f"matmul,bf16,{1024 + i},512,512,{60_000 + i}\n" for i in range(9000))
        (self.folder / "rows.csv").write_text("op,dtype,m,n,k,runtime_ns\n" + rows)
        (self.folder / "map.yaml").write_text(
            "name: x\nsource: nobody\nlicence: none\nhow_timed: not\ntiming: device\n"
            "device: tpu_v3\ntables:\n  - columns: {op: op, dtype: dtype, m: m, n: n, k: k,\n"
            "               runtime: {column: runtime_ns, unit: ns}}\n")
        done = self.run_it("import", "operators", "--mapping", "./map.yaml", "-o", disk / "set",
                           "rows.csv")
        self.expect_error(done, "set")
        self.assertEqual(list(disk.iterdir()), [])

    def test_a_journal_on_a_full_disk_is_an_error_and_goes_on_later(self):
        disk = self.small_disk(8)
        study = self.folder / "s.yaml"
        study.write_text(
            "format: tilecast.study/1\nname: t\ndevices: [tpu_v3]\n"
            f"programs: [{PROGRAM}]\nmodels: [analytical]\n"
            "axes:\n  hbm.bandwidth: {log: [400 GB/s, 3.2 TB/s], points: 200}\n")
        sweep = ["sweep", study, "-f", "csv", "-o", self.folder / "out.csv", "--journal"]
        self.expect_error(self.run_it(*sweep, disk / "j"), "No space left")
        self.assertFalse((self.folder / "out.csv").exists())
        subprocess.run(["mount", "-o", "remount,size=1m", disk], check=True)
        self.assertEqual(self.run_it(*sweep, disk / "j", "--resume").returncode, 0)
        whole = self.run_it("sweep", study, "-f", "csv").stdout
        self.assertEqual((self.folder / "out.csv").read_text(), whole)


class Folders(Faults):
    def read_only_folder(self):
        folder = self.folder / "locked"
        folder.mkdir()
        if os.geteuid() != 0:
            folder.chmod(0o500)
            return folder
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder],
                                 capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("cannot make a folder that root may not write")
        self.addCleanup(subprocess.run, ["umount", folder], capture_output=True)
        return folder

    def test_a_read_only_folder_is_named(self):
        locked = self.read_only_folder()
        done = self.run_it("simulate", "-d", "tpu_v3", PROGRAM, "-o", locked / "a.txt")
        self.expect_error(done, "a.txt")
        self.expect_error(self.run_it("calibrate", "-d", "tpu_v3", MEASURED, "-o",
                                      locked / "mine.yaml"), "mine.yaml")
        self.expect_error(self.run_it("measure", "host", "--out", locked / "set", "-d",
                                      "cpu_generic", PROGRAM), "set")
        (self.folder / "bad.hlo").write_text("no program")
        self.expect_error(self.run_it("measure", "host", "--out", locked / "set", "bad.hlo"),
                          "set: cannot write it")  # before anything is read or probed
        self.expect_error(self.run_it("ops", "-d", "tpu_v3", "gone.csv", "-o", locked / "a.csv"),
                          "a.csv: cannot write it")

    def test_an_input_that_vanished_is_named(self):
        for arguments in (["simulate", "-d", "tpu_v3", "gone.hlo"],
                          ["evaluate", "-d", "tpu_v3", "gone_set"],
                          ["simulate", "-d", "./gone.yaml", PROGRAM],
                          ["simulate", "-d", "tpu_v3", "--model", "./gone_model", PROGRAM],
                          ["sweep", "gone.yaml"]):
            done = self.run_it(*arguments)
            self.assertIn(done.returncode, (1, 2))
            self.assertIn("gone", done.stderr)


class Pipes(Faults):
    def test_a_reader_that_leaves_ends_the_command_quietly(self):
        for form in ("table", "csv", "json"):
            command = subprocess.Popen([TILECAST, "simulate", "-d", "tpu_v3", PROGRAM, "-f", form],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            command.stdout.close()  # before any output: the worst case of `| head -1`
            err = command.stderr.read().decode()
            command.stderr.close()
            self.assertIn(command.wait(timeout=60), (-signal.SIGPIPE, 1, 128 + signal.SIGPIPE), err)
            self.assertNotIn("terminate called", err)


class TwoProcesses(Faults):
    def start(self, command, file, least_bytes=0):
        """Starts a command and returns when it has written a file; it is still running then."""
        first = subprocess.Popen([TILECAST, *map(str, command)], cwd=self.folder,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        for _ in range(3000):
            if file.exists() and file.stat().st_size > least_bytes:
                break
            time.sleep(0.01)
        self.assertIsNone(first.poll(), "the first one ended before the second began")

    def test_a_second_sweep_of_one_journal_is_refused(self):
        (self.folder / "s.yaml").write_text(
            "format: tilecast.study/1\nname: t\ndevices: [tpu_v3]\n"
            f"programs: [{PROGRAM}]\nmodels: [analytical]\n"
            "axes:\n  hbm.bandwidth: {log: [400 GB/s, 3.2 TB/s], points: 400}\n"
            "  clock: {range: [0.8 GHz, 2 GHz], points: 20}\n")
        command = ["sweep", "s.yaml", "-f", "csv", "-o", "out.csv", "--journal", "j"]
        self.start(command, self.folder / "j", least_bytes=200)
        self.expect_error(self.run_it(*command, "--resume"), "another process")

    def test_a_second_search_of_one_file_of_trials_is_refused(self):
        command = ["tune", "tiles", "-d", "tpu_v3", "-o", "trials.csv", "--measure",
                   "sleep 5; echo 1 us", PRODUCT]
        trials = self.folder / "trials.csv"
        self.start(command, trials)
        before = trials.read_text()
        self.expect_error(self.run_it(*command), "trials.csv: another process is writing it")
        self.assertEqual(trials.read_text(), before)

    def test_a_second_session_of_one_set_is_refused(self):
        command = ["measure", "host", "--out", "set", "-d", "cpu_generic", "--limit", "3",
                   "--tiles-per-kernel", "4", "--longest", "20ms", PROGRAM]
        self.start(command, self.folder / "set/manifest.yaml")
        self.expect_error(self.run_it(*command), "another process")


if __name__ == "__main__":
    TILECAST = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

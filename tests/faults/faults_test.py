#!/usr/bin/env python3
"""What a disk, a pipe, a clock or another process may do to a command: it ends with an error that
names the file, and leaves nothing half-written.

    faults_test.py TILECAST [unittest arguments]
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "configs/programs/mlp_train.hlo"
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


class FullDisk(Faults):
    def test_standard_output_that_takes_nothing_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([TILECAST, "simulate", "-d", "tpu_v3", PROGRAM], text=True,
                                  stdout=full, stderr=subprocess.PIPE)
        self.expect_error(done, "stdout", "No space left")

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
            command.stdout.close()  # before it wrote: what `| head -1` does, at its worst
            err = command.stderr.read().decode()
            command.stderr.close()
            self.assertIn(command.wait(timeout=60), (-signal.SIGPIPE, 1, 128 + signal.SIGPIPE), err)
            self.assertNotIn("terminate called", err)


class TwoProcesses(Faults):
    def test_a_second_sweep_of_one_journal_is_refused(self):
        (self.folder / "s.yaml").write_text(
            "format: tilecast.study/1\nname: t\ndevices: [tpu_v3]\n"
            f"programs: [{PROGRAM}]\nmodels: [analytical]\n"
            "axes:\n  hbm.bandwidth: {log: [400 GB/s, 3.2 TB/s], points: 400}\n"
            "  clock: {range: [0.8 GHz, 2 GHz], points: 20}\n")
        command = ["sweep", "s.yaml", "-f", "csv", "-o", "out.csv", "--journal", "j"]
        first = subprocess.Popen([TILECAST, *command], cwd=self.folder, stderr=subprocess.DEVNULL)
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        journal = self.folder / "j"
        for _ in range(1000):
            if journal.exists() and journal.stat().st_size > 200:
                break
            time.sleep(0.01)
        self.assertIsNone(first.poll(), "the first one ended before the second began")
        self.expect_error(self.run_it(*command, "--resume"), "another process")

    def test_a_second_session_of_one_set_is_refused(self):
        command = ["measure", "host", "--out", "set", "-d", "cpu_generic", "--limit", "3",
                   "--tiles-per-kernel", "4", "--longest", "20ms", PROGRAM]
        first = subprocess.Popen([TILECAST, *map(str, command)], cwd=self.folder,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        for _ in range(3000):
            if (self.folder / "set/manifest.yaml").exists():
                break
            time.sleep(0.01)
        self.assertIsNone(first.poll(), "the first one ended before the second began")
        self.expect_error(self.run_it(*command), "another session")


if __name__ == "__main__":
    TILECAST = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

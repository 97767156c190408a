#!/usr/bin/env python3
"""`tilecast serve`: the command's numbers, its page, its limits, 10,000 hostile requests, shutdown.

    serve_test.py TILECAST
"""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from browser import Browser, has_browser  # noqa: E402

TILECAST = sys.argv.pop(1)
PRODUCT = ROOT / "configs/examples/product.hlo"
SECRET = "a-secret-of-a-file-outside"
JSON = {"Content-Type": "application/json"}


class Serving:
    """A server on a free port, with a folder that contains a program and links to outside files."""

    def __init__(self, *options):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name) / "programs"
        (self.folder / "deep").mkdir(parents=True)
        outside = pathlib.Path(self.scratch.name) / "outside.hlo"
        outside.write_text(f"HloModule {SECRET}\n")
        shutil.copy(PRODUCT, self.folder / "product.hlo")
        shutil.copy(PRODUCT, self.folder / "deep/product.hlo")
        (self.folder / "link.hlo").symlink_to(outside)
        (self.folder / "up").symlink_to(pathlib.Path(self.scratch.name))
        self.process = subprocess.Popen(
            [TILECAST, "serve", "--port", "0", "--folder", self.folder, *options], cwd=ROOT,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        if self.process.poll() is None:
            self.end(signal.SIGTERM)
        self.process.stdout.close()
        self.process.stderr.close()
        self.scratch.cleanup()

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(timeout=30)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, path, body=None, headers=JSON):
        connection = self.connect()
        try:
            text = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def post(self, path, body):
        status, text = self.ask("POST", path, body)
        return status, json.loads(text)


def command(*arguments):
    out = subprocess.run([TILECAST, *map(str, arguments)], check=True, capture_output=True,
                         text=True, cwd=ROOT)
    return json.loads(out.stdout)


def asked(**more):
    return {"program": {"file": "product.hlo"}, "device": "tpu_v3", **more}


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Serving()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def test_simulate_is_the_commands_json(self):
        expected = command("simulate", "-d", "tpu_v3", "--set", "hbm.bandwidth=1.2TB/s", "-f",
                           "json", PRODUCT)["programs"][0]
        text = PRODUCT.read_text()
        for program in ({"text": text}, {"file": "product.hlo"}, {"file": "deep/product.hlo"}):
            for _ in range(2):  # the second is served from the cache
                status, said = self.server.post("/v1/simulate", {
                    "program": program, "device": "tpu_v3", "set": {"hbm.bandwidth": "1.2TB/s"}})
                self.assertEqual(status, 200, said)
                run = said["programs"][0]
                self.assertEqual(run["time_s"], expected["time_s"])
                self.assertEqual(run["kernels"], expected["kernels"])

    def test_a_file_that_changed_is_read_again(self):
        file = self.server.folder / "changing.hlo"
        file.write_text(PRODUCT.read_text())
        before = self.server.post("/v1/simulate", asked(program={"file": "changing.hlo"}))[1]
        file.write_text(PRODUCT.read_text().replace("bf16", "f32"))
        after = self.server.post("/v1/simulate", asked(program={"file": "changing.hlo"}))[1]
        self.assertNotEqual(before["programs"][0]["time_s"], after["programs"][0]["time_s"])

    def test_explain_tiles_and_ops_are_the_commands(self):
        expected = command("explain", "-d", "tpu_v3", "-f", "json", PRODUCT)
        status, said = self.server.post("/v1/explain", asked())
        self.assertEqual(status, 200)
        self.assertEqual(said["estimate"] if "estimate" in said else said.get("time_s"),
                         expected["estimate"] if "estimate" in expected
                         else expected.get("time_s"))
        rows = command("tiles", "-d", "tpu_v3", "-f", "json", PRODUCT,
                       "configs/examples/tiles.csv")["rows"]
        numbers = [{"output": [int(n) for n in row["output_bounds"].split()],
                    "kernel": [int(n) for n in row["kernel_bounds"].split()]} for row in rows]
        status, said = self.server.post("/v1/tiles", asked(tiles=numbers, model="analytical"))
        self.assertEqual(status, 200, said)
        self.assertEqual([t if t is None else f"{t * 1e9:.3f}" for t in said["time_s"]],
                         [r["estimate_ns"] and f"{r['estimate_ns']:.3f}" for r in rows])
        row = {"op": "matmul", "dtype": "bf16", "m": 512, "n": 512, "k": 512}
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
            table.write(",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n")
            table.flush()
            expected = command("ops", "-d", "h100_sxm", "--model", "analytical", "-f", "json",
                               table.name)
        status, said = self.server.post("/v1/ops", {"device": "h100_sxm", "rows": [row],
                                                    "model": "analytical"})
        self.assertEqual((status, said), (200, expected))

    def test_values_of_a_device_may_be_changed_by_the_keys_they_are_listed_by(self):
        values = json.loads(self.server.ask("GET", "/v1/device?name=tpu_v3")[1])["values"]
        keys = [key for key in values if "bandwidth" in key and not key.startswith("published.")]
        self.assertIn("memory.hbm.bandwidth", keys)
        for key in keys:
            status, said = self.server.post("/v1/simulate", asked(set={key: values[key]}))
            self.assertEqual(status, 200, said)
        before = self.server.post("/v1/simulate", asked())[1]["programs"][0]["time_s"]
        slower = self.server.post("/v1/simulate", asked(set={"memory.hbm.bandwidth": "9 GB/s"}))
        self.assertGreater(slower[1]["programs"][0]["time_s"], 2 * before)

    def test_a_batch_answers_in_order(self):
        requests = [{"path": "/v1/simulate", "body": asked()},
                    {"path": "/v1/nothing", "body": {}},
                    {"path": "/v1/batch", "body": {"requests": []}}]
        status, said = self.server.post("/v1/batch", {"requests": requests})
        self.assertEqual(status, 200)
        self.assertEqual([a["status"] for a in said["answers"]], [200, 404, 404])
        single = self.server.post("/v1/simulate", asked())[1]
        self.assertEqual(said["answers"][0]["body"], single)
        self.assertEqual(self.server.post("/v1/batch", {"requests": requests * 100})[0], 400)

    def test_tiles_take_every_part_that_the_description_names(self):
        _, text = self.server.ask("GET", "/openapi.json")
        parts = json.loads(text)["components"]["schemas"]["Tile"]["properties"]
        self.assertGreater(len(parts), 4)
        for name, part in parts.items():
            tile = {name: {"array": [1, 1], "integer": 2, "boolean": True}[part["type"]]}
            self.assertEqual(self.server.post("/v1/tiles", asked(tiles=[tile]))[0], 200, name)
            self.assertEqual(self.server.post("/v1/tiles", asked(tiles=[{name: "x"}]))[0], 400)

    def test_errors_have_places(self):
        text = "HloModule m\nENTRY e {\n  ROOT a = f32[2] no_such(b)\n}\n"
        status, said = self.server.post("/v1/simulate", asked(program={"text": text}))
        self.assertEqual(status, 400)
        self.assertEqual((said["error"]["file"], said["error"]["line"]), ("text", 3))

    def test_the_description_names_every_path_and_the_page_is_there(self):
        status, text = self.server.ask("GET", "/openapi.json")
        description = json.loads(text)
        self.assertEqual(status, 200)
        for path, methods in description["paths"].items():
            method = next(iter(methods)).upper()
            status, _ = self.server.ask(method, path + ("?name=tpu_v3" if method == "GET" else ""),
                                        "{}" if method == "POST" else None)
            self.assertEqual(status, 200 if method == "GET" else 400, path)
        status, text = self.server.ask("GET", "/")
        self.assertEqual(status, 200)
        self.assertNotIn("http://", text)  # no external resources
        self.assertNotIn("https://", text)
        self.assertEqual(json.loads(self.server.ask("GET", "/v1/files")[1])["files"].count(
            "link.hlo"), 0)


@unittest.skipUnless(has_browser(), "no chromium")
class Page(unittest.TestCase):
    """The page in Chromium, as a reader uses it."""

    KEY = "memory.hbm.bandwidth"

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.server = cls.stack.enter_context(Serving())
        cls.browser = cls.stack.enter_context(Browser())
        (cls.server.folder / "notes.yaml").write_text("a: 1\n")
        (cls.server.folder / "broken.hlo").write_text("HloModule broken\n")

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    def open(self, state="device=tpu_v3&file=product.hlo", width=1280):
        self.browser.open(f"http://127.0.0.1:{self.server.port}/#{state}", width, 900)
        self.settle()

    def settle(self):
        self.browser.until("!busy && !again && "
                           "(last !== null || document.getElementById('error').textContent !== '')")

    def text(self, name):
        return self.browser.value(f"document.getElementById('{name}').textContent")

    def drag(self, key, power):
        self.browser.value(f"(() => {{ const s = document.getElementById('s-{key}');"
                           f"s.value = {power}; s.oninput(); }})()")
        self.settle()

    def time_of(self, bandwidth):
        run = command("simulate", "-d", "tpu_v3", "--set", f"{self.KEY}={bandwidth}", "-f", "json",
                      PRODUCT)["programs"][0]
        return run["time_s"]

    def test_a_drag_changes_time_and_curve_and_reset_undoes_it(self):
        self.open()
        before = self.text("time")
        self.assertIn("The device as described", self.text("more"))
        self.drag(self.KEY, -2)
        expected = self.time_of("112.5 GB/s")
        self.assertAlmostEqual(self.browser.value("last[1]"), expected, delta=1e-12)
        points = self.browser.value("curve.points")
        self.assertEqual(len(points), 13)
        for point in (points[0], points[2], points[-1]):
            self.assertAlmostEqual(point["time_s"], self.time_of(point["value"]), delta=1e-12)
        self.assertEqual(points[2]["time_s"], self.browser.value("last[1]"))
        self.assertEqual(self.browser.value("[...document.querySelectorAll('#plot circle')].filter("
                                            "each => each.getClientRects().length).length"), 14)
        self.browser.value("document.getElementById('reset').click()")
        self.browser.until(f"document.getElementById('time').textContent === '{before}'")
        self.assertEqual(self.browser.faults, [])

    def test_the_address_shows_the_same_again(self):
        self.open()
        self.drag(self.KEY, 1)
        shown, address = self.text("time"), self.browser.value("location.hash")
        self.open(address[1:])
        self.assertEqual(self.text("time"), shown)
        self.assertIn("of the device as described", self.text("more"))
        self.assertEqual(self.browser.value(f"document.getElementById('s-{self.KEY}').value"), "1")

    def test_only_programs_are_offered(self):
        self.open()
        offered = self.browser.value("[...document.getElementById('file').options].map(o => o.value)")
        self.assertEqual(offered, ["", "broken.hlo", "deep/product.hlo", "product.hlo"])

    def test_a_result_of_simulate_is_what_the_time_is_held_against(self):
        self.open("device=tpu_v4&file=product.hlo")
        result = json.dumps(command("simulate", "-d", "tpu_v3", "-f", "json", PRODUCT))
        for name, content in (("run.json", result), ("no.json", "[]")):
            self.browser.value(f"""(() => {{ const data = new DataTransfer();
                data.items.add(new File([{json.dumps(content)}], '{name}'));
                document.getElementById('result').files = data.files; return compare(); }})()""")
            self.settle()
        self.assertEqual(self.browser.value("document.getElementById('device').value"), "tpu_v3")
        self.assertIn("× 1.000 of run.json", self.text("more"))
        self.assertIn("no.json is no result", self.text("error"))

    def test_faults_are_said_in_words_of_the_page(self):
        self.open("device=tpu_v3&text=HloModule+x%0AENTRY+e+%7B+a+%3D+f32%5B2%5D+foo()+%7D")
        self.assertRegex(self.text("error"), r"^The program's line 2, column 22: .*foo$")
        self.open("device=tpu_v3&text=+")
        self.assertIn("Write a program", self.text("error"))
        self.open("device=tpu_v3&file=product.hlo&set=clock=0 MHz")
        self.assertRegex(self.text("error"), r"^clock: got '0 MHz'")
        self.open("device=tpu_v3&file=broken.hlo")
        self.assertIn("broken.hlo", self.text("error"))
        self.browser.faults = []  # the console names each refusal

    def test_nothing_is_wider_than_a_phone(self):
        for width in (390, 1280):
            self.open(f"device=h100_sxm&file=product.hlo&plot={self.KEY}", width)
            self.assertEqual(self.browser.value("document.documentElement.scrollWidth"), width)
            self.assertEqual(self.browser.value(
                "[...document.querySelectorAll('section, td, svg text')].filter(each => "
                "each.getClientRects().length && each.getBoundingClientRect().right > "
                "document.documentElement.clientWidth).length"), 0)


class Limits(unittest.TestCase):
    def test_others_need_a_token(self):
        out = subprocess.run([TILECAST, "serve", "--host", "0.0.0.0", "--port", "0"],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(out.returncode, 2)
        self.assertIn("--token", out.stderr)
        with Serving("--token", "sesame") as server:
            self.assertEqual(server.ask("GET", "/v1/devices")[0], 401)
            wrong = {"Authorization": "Bearer sesamf"}
            self.assertEqual(server.ask("GET", "/v1/devices", headers=wrong)[0], 401)
            right = {"Authorization": "Bearer sesame"}
            self.assertEqual(server.ask("GET", "/v1/devices", headers=right)[0], 200)

    def test_sites_of_others_are_not_let_in(self):
        with Serving() as server:
            other = {**JSON, "Host": "evil.example"}
            self.assertEqual(server.ask("POST", "/v1/simulate", asked(), other)[0], 403)
            port = server.port
            for host in ("127.evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
                         "[::1].evil.example", "[::1", "127.", "127.1", "0.0.0.0", "", "localhost:x"):
                said = answer_to_raw(port, f"GET /v1/devices HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                self.assertIn(b" 403 ", said[:20], host)
            for host in ("127.0.0.1", f"127.0.0.1:{port}", "127.9.9.9", "localhost", "LocalHost:1",
                         "[::1]", f"[::1]:{port}"):
                said = answer_to_raw(port, f"GET /v1/devices HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                self.assertIn(b" 200 ", said[:20], host)
            twice = b"GET /v1/devices HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
            self.assertIn(b" 403 ", answer_to_raw(port, twice)[:20])
            for form in ("application/jsonx", "text/plain, application/json"):
                self.assertEqual(server.ask("POST", "/v1/simulate", asked(), {"Content-Type": form})[0],
                                 415)
            form = {"Content-Type": "text/plain"}
            self.assertEqual(server.ask("POST", "/v1/simulate", asked(), form)[0], 415)

    def test_large_bodies_are_refused(self):
        with Serving("--body-bytes", "10000") as server:
            body = asked(program={"text": "x" * 20000})
            try:
                self.assertEqual(server.ask("POST", "/v1/simulate", body)[0], 413)
            except (ConnectionError, http.client.HTTPException):
                pass  # it may close before everything is sent
            self.assertEqual(server.post("/v1/simulate", asked())[0], 200)

    def test_slow_clients_are_cut_off_and_do_not_stop_others(self):
        with Serving("--seconds", "1", "--threads", "2") as server:
            slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
            for connection in slow:
                connection.sendall(b"POST /v1/simulate HTTP/1.1\r\nHost: localhost\r\n")
            self.assertEqual(server.post("/v1/simulate", asked())[0], 200)
            for connection in slow:
                connection.close()

    def test_a_client_of_a_byte_now_and_then_is_cut_off(self):
        heads = [b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
                 b"POST /v1/simulate HTTP/1.1\r\nHost: localhost\r\n"
                 b"Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n"]
        with Serving("--seconds", "2", "--threads", "1") as server:
            slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
            for connection, head in zip(slow, heads * 4):
                connection.sendall(head)
            ended = set()
            for _ in range(100):  # each byte is within the limit, the whole request is not
                for connection in set(slow) - ended:
                    try:
                        connection.sendall(b"a")
                        connection.settimeout(0.01)
                        connection.recv(1)
                        ended.add(connection)  # a reply, or the end
                    except TimeoutError:
                        pass
                    except OSError:
                        ended.add(connection)
                self.assertEqual(server.post("/v1/simulate", asked())[0], 200)  # others do not wait
                if len(ended) == len(slow):
                    break
                time.sleep(0.5)
            self.assertEqual(len(ended), len(slow))
            for connection in slow:
                connection.close()

    def test_many_clients_at_once_are_all_answered(self):
        with Serving() as server:
            with concurrent.futures.ThreadPoolExecutor(200) as pool:
                said = list(pool.map(lambda _: server.post("/v1/simulate", asked())[0], range(400)))
            self.assertEqual(said, [200] * 400)

    def test_what_is_asked_bounds_what_is_held(self):
        wide = [{f"c{i}": 1} for i in range(9999)]
        long = [{"x_" + "long" * 250_000: 1}] + [{}] * 9000
        add = {"op": "add", "dtype": "f32", "elements": 64}
        large = {"device": "tpu_v3", "rows": [{**add, "x_" + "y" * 30_000: 1}] + [add] * 899}
        batch = {"requests": [{"path": "/v1/ops", "body": large}] * 40}
        with Serving() as server:
            for rows in (wide, long):
                status, said = server.post("/v1/ops", {"device": "tpu_v3", "rows": rows})
                self.assertEqual(status, 400)
                self.assertIn("ask for fewer at once", said["error"]["message"])
            status, said = server.ask("POST", "/v1/simulate", "[" * 4_000_000)
            self.assertEqual(status, 400)
            self.assertIn("nested too deep", said)
            statuses = [one["status"] for one in server.post("/v1/batch", batch)[1]["answers"]]
            self.assertEqual((statuses[0], statuses[-1]), (200, 503))
            self.assertLess(peak_MB(server.process.pid), 700)
            endless = socket.create_connection(("127.0.0.1", server.port))
            endless.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            with self.assertRaises(OSError):
                for _ in range(4000):  # 40 MB of headers
                    endless.sendall(b"X: y\r\n" * 2000)
            endless.close()
            self.assertEqual(server.post("/v1/simulate", asked())[0], 200)
            self.assertLess(peak_MB(server.process.pid), 700)

    def test_it_ends_with_0_and_answers_what_runs(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with Serving() as server:
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    asks = [pool.submit(server.post, "/v1/simulate", asked()) for _ in range(4)]
                    for ask in asks:
                        self.assertEqual(ask.result()[0], 200)
                self.assertEqual(server.end(number), 0)

    def test_a_busy_port_is_an_error(self):
        with Serving() as server:
            out = subprocess.run([TILECAST, "serve", "--port", str(server.port)],
                                 capture_output=True, text=True, timeout=60)
            self.assertEqual(out.returncode, 1)
            self.assertIn("cannot listen", out.stderr)


def hostile_names(scratch):
    return ["../outside.hlo", "/etc/passwd", f"{scratch}/outside.hlo", "link.hlo",
            "up/outside.hlo", "deep/../../outside.hlo", "./../outside.hlo", "..", ".", "", "/",
            "//etc/passwd", "product.hlo/../../outside.hlo", "product.hlo\0.txt", "deep",
            "%2e%2e/outside.hlo", "..\\outside.hlo", "file:///etc/passwd", "/proc/self/environ",
            "x" * 5000, "product.hlo/", "~root/.bashrc", "/dev/stdin", "/dev/zero"]


class Hostile:
    """Random invalid requests, by seed."""

    def __init__(self, server, seed):
        self.random = random.Random(seed)
        self.names = hostile_names(server.scratch.name)
        self.good = json.dumps(asked())
        self.hlo = PRODUCT.read_text()

    def damaged(self, text):
        data = bytearray(text.encode())
        for _ in range(self.random.randint(1, 8)):
            at = self.random.randrange(len(data))
            kind = self.random.randrange(3)
            if kind == 0:
                data[at] = self.random.randrange(256)
            elif kind == 1:
                del data[at:at + self.random.randint(1, 30)]
            else:
                data[at:at] = self.random.randbytes(self.random.randint(1, 9))
            if not data:
                break
        return bytes(data)

    def value(self, depth=0):
        kinds = [None, True, -1, 1e308, 2**63, -2**63, "", "\u0000", "../..", "[" * 50, 0.5]
        if depth < 3 and self.random.random() < 0.4:
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        if depth < 3 and self.random.random() < 0.3:
            return {key: self.value(depth + 1) for key in ("text", "file", "output")}
        return self.random.choice(kinds)

    def body(self):
        kind = self.random.randrange(8)
        if kind == 0:
            return json.dumps(asked(program={"file": self.random.choice(self.names)})).encode()
        if kind == 1:
            return json.dumps(asked(device=self.random.choice(self.names))).encode()
        if kind == 2:
            return json.dumps(asked(model=self.random.choice(self.names))).encode()
        if kind == 3:
            key = self.random.choice(["extends", "hbm.bandwidth", "name", "no.such", "", "="])
            return json.dumps(asked(set={key: self.random.choice(self.names)})).encode()
        if kind == 4:
            return self.damaged(self.good)
        if kind == 5:
            text = self.damaged(self.hlo).decode("utf-8", "replace")
            return json.dumps(asked(program={"text": text})).encode()
        if kind == 6:
            body = asked()
            body[self.random.choice(["program", "device", "set", "model", "tiles", "rows", "kernel",
                                     "requests", "tile"])] = self.value()
            return json.dumps(body).encode()
        return self.random.choice([b"[" * 100_000, b"{\"a\":" * 20_000, b"", b"\xff\xfe", b"null",
                                   b"\x1f\x8b\x08" + self.random.randbytes(50)])

    def path(self):
        return self.random.choice(["/v1/simulate", "/v1/explain", "/v1/tiles", "/v1/ops",
                                   "/v1/batch", "/v1/../etc/passwd", "/v1/" + "a" * 3000,
                                   "/v1/device?name=../../etc/passwd", "/%00", "/v1/simulate/.."])

    def raw(self):
        """Invalid or nearly valid HTTP."""
        line = self.random.choice([
            b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"POST /v1/simulate HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
            b"POST /v1/simulate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999\r\n"
            b"Content-Type: application/json\r\n\r\n{}",
            b"POST /v1/simulate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
            b"Content-Type: application/json\r\n\r\nZZZ\r\n",
            b"\x16\x03\x01" + self.random.randbytes(40), self.random.randbytes(200),
            b"GET / HTTP/9.9\r\n\r\n", b"A" * 20_000, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 3000])
        return self.damaged(line.decode("latin1")) if self.random.random() < 0.3 else line


def answer_to_raw(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(1 << 16)
        except OSError:
            return b""


def answer_to_body(connection, path, body):
    try:
        connection.request("POST", path, body, JSON)
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException, ValueError):
        connection.close()
        return b""


class TenThousand(unittest.TestCase):
    REQUESTS = 10_000

    def test_none_ends_it_and_none_reads_a_file_outside(self):
        forbidden = [SECRET.encode(), b"root:x:0", b"TILECAST_", b"PATH="]
        with Serving("--seconds", "5") as server:
            connection, answered, hostile = server.connect(), 0, Hostile(server, 7)
            for i in range(self.REQUESTS):
                if i % 10 == 9:
                    said = answer_to_raw(server.port, hostile.raw())
                else:
                    said = answer_to_body(connection, hostile.path(), hostile.body())
                answered += bool(said)
                for text in forbidden:
                    self.assertNotIn(text, said)
                if i % 1000 == 0:
                    self.assertIsNone(server.process.poll(), f"ended by request {i}")
            self.assertGreater(answered, self.REQUESTS * 0.8)
            self.assertEqual(server.post("/v1/simulate", asked())[0], 200)
            for name in hostile_names(server.scratch.name):
                status, said = server.post("/v1/simulate", asked(program={"file": name}))
                self.assertEqual(status, 400, name)
                self.assertIn("no such file", said["error"]["message"], name)
            self.assertEqual(server.end(signal.SIGTERM), 0)


class LongRun(unittest.TestCase):
    """No leaks of memory or descriptors: TILECAST_LONG_RUN=1000000 sends a day's worth of requests,
    with distinct programs on a few devices."""
    REQUESTS = int(os.environ.get("TILECAST_LONG_RUN", "2000"))
    WARM_UP = 1000  # fills the caches
    SAMPLES = 10  # of the memory, which fluctuates: compares the minima of both halves
    MOST_GROWTH_MB = 32  # heaps of threads still grow: 50 to 80 MB in total, for any length

    def ask_one(self, server, random):
        columns = 128 * random.randrange(1, 100)
        program = {"text": PRODUCT.read_text().replace("1024", str(columns))}
        rate = {"memory.hbm.bandwidth": f"{random.choice([300, 600, 1200])} GB/s"}
        path = random.choice(["/v1/simulate", "/v1/simulate", "/v1/explain"])
        wrong = random.random() < 0.1
        status, said = server.post(path, asked(program={"text": "HloModule"} if wrong else program,
                                               device=random.choice(["tpu_v3", "cpu_generic"]),
                                               **({"set": rate} if random.random() < 0.1 else {})))
        self.assertIn(status, [200, 400], said)
        return status

    def test_memory_stays_flat_and_no_descriptor_is_lost(self):
        with Serving() as server:
            dice = random.Random(3)
            for _ in range(self.WARM_UP):
                self.ask_one(server, dice)
            samples, answered = [], 0
            for _ in range(self.SAMPLES):
                answered += sum(self.ask_one(server, dice) == 200
                                for _ in range(self.REQUESTS // self.SAMPLES))
                samples.append(held_by(server.process.pid))
            early, late = samples[:self.SAMPLES // 2], samples[self.SAMPLES // 2:]
            memory_MB, later_MB = (min(memory for memory, _ in part) for part in (early, late))
            files, later_files = (min(count for _, count in part) for part in (early, late))
            print(f"\n{self.REQUESTS} requests, {answered} answered: {memory_MB:.1f} -> "
                  f"{later_MB:.1f} MB, {files} -> {later_files} descriptors")
            self.assertGreater(answered, self.REQUESTS / 2)
            self.assertLess(later_MB, memory_MB + self.MOST_GROWTH_MB)
            self.assertLessEqual(later_files, files + 2)  # a connection may be closing


def held_by(process):
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    resident_kB = int(status.split("VmRSS:")[1].split()[0])
    return resident_kB / 1e3, len(os.listdir(f"/proc/{process}/fd"))


def peak_MB(process):
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1e3


class Speed(unittest.TestCase):
    def test_a_small_program_asked_again_and_again(self):
        with Serving("--threads", "1") as server:
            connection, body = server.connect(), json.dumps(asked())
            answer_to_body(connection, "/v1/simulate", body)
            before, waits = cpu_seconds(server.process.pid), []
            start = time.monotonic()
            for _ in range(1000):
                asked_at = time.monotonic()
                self.assertTrue(answer_to_body(connection, "/v1/simulate", body))
                waits.append(time.monotonic() - asked_at)
            wall = time.monotonic() - start
            used = cpu_seconds(server.process.pid) - before
            connection.close()
            print(f"\n1000 requests: {1000 / wall:.0f}/s, p99 {1e3 * sorted(waits)[989]:.1f} ms, "
                  f"{used:.2f} s of the server's processor time")
            self.assertLess(used, 1000 / 200)  # 200 per second on one core, under any load


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    unittest.main()

"""Headless Chromium over its debugging pipe, for tests of pages.

    with Browser() as browser:
        browser.open(url, width=390, height=800)
        browser.value("document.title")
"""
import json
import os
import shutil
import subprocess
import tempfile
import time


def has_browser():
    return shutil.which("chromium") is not None


class Browser:
    def __enter__(self):
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self.to = os.pipe()
        self.answers, answers = os.pipe()
        ends = [os.dup(commands), os.dup(answers)]  # not 3 or 4, which Chromium expects

        def take_ends():
            for number, end in enumerate(ends, 3):
                os.dup2(end, number)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
             "about:blank"],
            env={**os.environ, "HOME": self.home.name}, preexec_fn=take_ends, close_fds=False,
            stderr=subprocess.DEVNULL)
        for end in (commands, answers, *ends):
            os.close(end)
        self.count, self.rest, self.session = 0, b"", None
        self.faults = []  # what scripts threw, and their errors on the console
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(domain + ".enable")
        return self

    def __exit__(self, *ignored):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        self.home.cleanup()

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        said = json.loads(text)
        if said.get("method") == "Runtime.exceptionThrown":
            self.faults.append(said["params"]["exceptionDetails"])
        if said.get("method") == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
            self.faults.append(said["params"]["entry"]["text"])
        return said

    def ask(self, method, **parameters):
        self.count += 1
        question = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            question["sessionId"] = self.session
        os.write(self.to, json.dumps(question).encode() + b"\0")
        while (said := self.message()).get("id") != self.count:
            pass
        if "error" in said:
            raise RuntimeError(f"{method}: {said['error']}")
        return said["result"]

    def open(self, url, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=width < 600)
        self.ask("Page.navigate", url="about:blank")  # a change after '#' alone loads nothing
        self.ask("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def value(self, script):
        said = self.ask("Runtime.evaluate", expression=script, returnByValue=True,
                        awaitPromise=True)
        if "exceptionDetails" in said:
            raise RuntimeError(f"{script}: {said['exceptionDetails']}")
        return said["result"].get("value")

    def until(self, script, seconds=30):
        end = time.monotonic() + seconds
        while not self.value(script):
            if time.monotonic() > end:
                raise TimeoutError(script)
            time.sleep(0.02)

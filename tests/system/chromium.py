"""Drives a headless Chromium over two pipes by the Chrome DevTools Protocol: messages are JSON that ends with NUL.

Every wait has a deadline, so that a browser that hangs fails a test instead of stopping it.
"""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
DEADLINE = 20  # seconds, of everything that the browser is asked


def found():
    """Path of the browser; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Failure(Exception):
    """The browser did not do what it was asked."""


class Chromium:
    """One browser with one page. Use it in `with`.

    What the page logged, threw or asked of the network since `open` is in `complaints` and `requests`.
    """

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="rankwire-chromium-")
        to_browser, self._output = os.pipe()
        self._input, from_browser = os.pipe()
        # The protocol is on descriptors 3 and 4 of the browser; the shell moves them there without code between fork and exec.
        command = ["sh", "-c", f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}', found(), "--headless=new",
                   "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync",
                   "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={self.profile}", "about:blank"]
        self._process = subprocess.Popen(command, pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         env=os.environ | {"HOME": self.profile})
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._last, self._session = b"", 0, None
        self._loaded = False
        self.complaints, self.requests = [], []
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the browser and removes its profile."""
        if self._process.poll() is None:
            try:
                self._send("Browser.close", {}, session=False)
                self._process.wait(5)
            except (OSError, subprocess.TimeoutExpired):
                self._process.kill()
        self._process.wait()
        for descriptor in (self._input, self._output):
            os.close(descriptor)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _attach(self):
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def _send(self, method, parameters, session=True):
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if session and self._session:
            message["sessionId"] = self._session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._output, rest):]
        return self._last

    def _receive(self, deadline):
        """The next message."""
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._input], [], [], left)[0]:
                raise Failure("the browser does not answer")
            part = os.read(self._input, 1 << 20)
            if not part:
                raise Failure(f"the browser has ended with status {self._process.wait(5)}")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(message)
        self._note(message.get("method"), message.get("params"))
        return message

    def _note(self, method, parameters):
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str([argument.get("value") for argument in parameters["args"]]))
        elif method == "Log.entryAdded":
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True

    def call(self, method, **parameters):
        """The result of one call."""
        number, deadline = self._send(method, parameters), time.monotonic() + DEADLINE
        while True:
            message = self._receive(deadline)
            if message.get("id") == number:
                break
        if "error" in message:
            raise Failure(f"{method}: {message['error']['message']}")
        return message["result"]

    def open(self, file):
        """Loads a file and waits until it is complete; scripts have run by then."""
        self.go(pathlib.Path(file).resolve().as_uri())

    def go(self, url):
        """The same of an address; one of this host, since no name has another."""
        self.complaints.clear()
        self.requests.clear()
        self._loaded = False
        result = self.call("Page.navigate", url=url)
        if "errorText" in result:
            raise Failure(result["errorText"])
        deadline = time.monotonic() + DEADLINE
        while not self._loaded:
            self._receive(deadline)

    def evaluate(self, expression):
        """The value of a JavaScript expression, as JSON has it; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failure(result["exceptionDetails"].get("exception", {}).get("description", expression))
        return result["result"].get("value")

    def wait(self, expression):
        """Until the expression is true; its value then."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            if value := self.evaluate(expression):
                return value
            self.frame()
        raise Failure(f"never true: {expression}")

    def frame(self):
        """Waits until what changed is drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.frame()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        for press in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, x, y, button="left", clickCount=press)

    def wheel(self, x, y, by):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=by)

    def drag(self, start, end):
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        for step in range(1, 5):
            self.mouse("mouseMoved", *(a + (b - a) * step / 4 for a, b in zip(start, end)), button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def key(self, name, text=""):
        """Presses and releases a key by its DOM name, such as "Enter" or "+"."""
        codes = {"Enter": 13, " ": 32}
        text = text or (name if len(name) == 1 else "\r" if name == "Enter" else "")
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, text=text, windowsVirtualKeyCode=codes.get(name, 0))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=codes.get(name, 0))

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, file, whole=False):
        """Writes a PNG of what is seen, or of the whole page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        pathlib.Path(file).write_bytes(base64.b64decode(data))

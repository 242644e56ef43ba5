#!/usr/bin/env python3
"""The page of a run as it goes on, in a headless Chromium, and what it is served by."""

import http.client
import json
import re
import signal
import socket
import time
import unittest
import urllib.parse

import chromium
from pages import HOSTILE
from rankwire import FAILED, OK, SOURCE, USAGE, RankwireTest, rankwire, start, transformer

NAME = "<img src=x onerror=window.hurt=1> \" ' ` & live"  # without a slash, since folders are called so
FEW_SECONDS = {
    # In each iteration 4 ranks all-reduce 2 x 12 x 1024^2 x 2 B = 50 MB and more: with two rings a port of 1 Gb/s has it
    # for a second at least.
    "name": "live",
    "workload": {"generate": transformer(layers=8, hidden=1024, tensor_parallel=1, pipeline_parallel=2, data_parallel=4),
                 "iterations": 40},
    "hosts": {"count": 4, "npus": 2, "nics": 1},
    "ports": {"count": 4, "device": "ring", "rate": "1Gbps"},
    "run": {"deadline": "100s"},
}
DEADLINE = 30  # seconds


class Live:
    """A process that serves a page, and its address."""

    def __init__(self, process):
        self.process, self.said = process, []
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            line = process.stderr.readline()
            self.said.append(line)
            if found := re.match(r"live page: (http://(.*):(\d+)/\?token=(\w+))$", line):
                self.url, self.host, self.port, self.token = found[1], found[2], int(found[3]), found[4]
                return
            if not line:
                break
        raise AssertionError(f"it says no address: {self.said}")

    def ask(self, path, method="GET", **headers):
        """Status and body."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=DEADLINE)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def event(self):
        """Status, and the first state that is told."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=DEADLINE)
        try:
            connection.request("GET", f"/events?token={self.token}")
            answer = connection.getresponse()
            return answer.status, json.loads(answer.readline().decode().removeprefix("data: "))
        finally:
            connection.close()

    def metrics(self):
        """Samples by name and labels."""
        status, text = self.ask("/metrics", Authorization=f"Bearer {self.token}")
        assert status == 200, text
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}


class LiveTest(RankwireTest):
    def begin(self, *arguments, **changes):
        process = start("run", self.configuration(FEW_SECONDS | changes), "--out", self.folder / "run", "--live", *arguments)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return Live(process)

    def end(self, live, status):
        """The summary of a run that ends now, and what it said."""
        output, errors = live.process.communicate(timeout=60)
        self.assertEqual(live.process.returncode, status, output + errors)
        return json.loads((self.folder / "run/summary.json").read_text(encoding="utf-8")), output + errors


class ServerTest(LiveTest):
    @staticmethod
    def unnamed(metrics):
        """Those that docs/live.md does not name, or that it names in vain."""
        document = (SOURCE / "docs/live.md").read_text(encoding="utf-8")
        served, named = {name.partition("{")[0] for name in metrics}, set(re.findall(r"`(rankwire_[a-z_]+)`", document))
        return served - named if len(served) < 3 else served ^ named

    def test_metrics_grow_and_stop_ends_the_run_with_what_it_measured(self):
        live = self.begin()
        self.assertEqual(self.unnamed(live.metrics()), set())
        deadline = time.monotonic() + DEADLINE
        first = live.metrics()
        while not first.get("rankwire_operations_total", 0) > 0 and time.monotonic() < deadline:
            first = live.metrics()
        later = first
        while later["rankwire_sent_bytes_total"] == first["rankwire_sent_bytes_total"] and time.monotonic() < deadline:
            later = live.metrics()
        self.assertGreater(later["rankwire_run_seconds"], first["rankwire_run_seconds"])
        # Of one publication: what ports tallied is what their transport counted.
        for way in ("sent", "received"):
            for unit in ("bytes", "packets"):
                of_ports = sum(value for name, value in later.items() if name.startswith(f"rankwire_port_{way}_{unit}_total"))
                self.assertEqual(of_ports, later[f"rankwire_{way}_{unit}_total"])
        served = {name.partition("{")[0] for name in later}
        dashboard = (SOURCE / "configs/grafana/rankwire.json").read_text(encoding="utf-8")
        queries = [target["expr"] for panel in json.loads(dashboard)["panels"] for target in panel["targets"]]
        self.assertEqual(set(re.findall(r"rankwire_[a-z_]+", " ".join(queries))) - served, set())
        self.assertEqual(self.unnamed(later), set())
        self.assertEqual(live.ask("/stop", "POST", Authorization="Bearer x")[0], 403)
        self.assertEqual(live.ask("/stop", "POST", Authorization=f"Bearer {live.token}")[0], 204)
        summary, _ = self.end(live, FAILED)
        self.assertEqual((summary["verdict"], summary["reason"].splitlines()[0]),
                         ("interrupted", "stopped from the live page"))
        self.assertGreaterEqual(summary["transport"]["bytes_tx"], later["rankwire_sent_bytes_total"])
        self.assertTrue((self.folder / "run/report.html").exists())

    def test_a_rank_that_stands_still_is_late(self):
        generated = transformer(layers=2, hidden=256, tensor_parallel=1, pipeline_parallel=1, data_parallel=8)
        live = self.begin(workload={"generate": generated, "iterations": 10_000},
                          compute={"stragglers": [{"ranks": [3], "pause": True, "from": "300ms", "until": "90s"}]})
        metrics, deadline = live.metrics(), time.monotonic() + DEADLINE
        while metrics.get('rankwire_job_late_rank_silent_seconds{job="live"}', 0) < 0.5 and time.monotonic() < deadline:
            metrics = live.metrics()
        late = {name: metrics[f'rankwire_job_late_rank{name}{{job="live"}}']
                for name in ("", "_behind_operations", "_behind_seconds")}
        self.assertEqual(late[""], 3, late)
        self.assertGreaterEqual(late["_behind_operations"], 1, late)
        status, events = live.event()
        told = events["run"]["jobs"][0]["late"]
        self.assertEqual((status, told["rank"], told["name"]), (200, 3, "rank 3"))
        self.assertNotEqual(told["operation"], "")
        live.ask("/stop", "POST", Authorization=f"Bearer {live.token}")
        self.assertEqual(self.end(live, FAILED)[0]["verdict"], "interrupted")

    def test_a_run_ends_as_without_viewers_that_do_not_read(self):
        live = self.begin(workload=FEW_SECONDS["workload"] | {"iterations": 2})
        with socket.create_connection((live.host, live.port)) as silent, \
                socket.create_connection((live.host, live.port)) as deaf:
            silent.sendall(b"GET / HTTP/1.1\r\nHost: ")
            deaf.sendall(f"GET /events?token={live.token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            summary, output = self.end(live, OK)
        self.assertEqual(summary["verdict"], "ok")
        self.assertNotIn("token", output.replace(live.url, ""))

    def test_a_port_that_is_taken_is_said_before_the_run(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            process = rankwire("run", self.configuration(FEW_SECONDS), "--out", self.folder / "run", "--live", f"127.0.0.1:{port}")
        self.assert_one_line_error(process, USAGE, f"127.0.0.1:{port}", "another program")
        self.assertFalse((self.folder / "run").exists())

    def test_addresses_that_are_none(self):
        for wrong in ("127.0.0.1:70000", "1:2:3"):
            process = rankwire("run", self.configuration(FEW_SECONDS), "--live", wrong)
            self.assert_one_line_error(process, USAGE, "--live", wrong)


@unittest.skipIf(chromium.found() is None, "there is no Chromium (package chromium)")
class LivePageTest(LiveTest):
    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Chromium()
        cls.addClassCleanup(cls.browser.close)

    def open(self, live, width=1200, dark=False):
        self.browser.size(width, 900, dark)
        self.browser.go(live.url)

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")

    def expect_clean(self, live):
        """Nothing was asked of others, and names became text."""
        self.assertEqual([url for url in self.browser.requests
                          if urllib.parse.urlsplit(url).netloc != f"{live.host}:{live.port}" and not url.startswith("data:")], [])
        self.assertEqual(self.browser.complaints, [])
        self.assertIsNone(self.browser.evaluate("window.hurt"))

    def test_the_page_grows_and_stops_the_run(self):
        ports = [{"name": f"p{i}{HOSTILE[0]}\"'", "device": "memory", "rate": "1Gbps"} for i in range(4)]
        live = self.begin(name=NAME, ports=ports)
        self.open(live)
        self.browser.wait("Number(document.documentElement.dataset.updates) >= 2 && document.querySelector('#ports tbody tr') !== null")
        self.assertEqual(self.text("h1"), NAME)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#ports tbody tr').length"), 4)
        self.assertEqual(self.text("#ports tbody td"), ports[0]["name"])
        packets = "Number(document.querySelector('#ports tbody tr').cells[3].textContent)"
        before = self.browser.evaluate(packets)
        self.browser.wait(f"{packets} > {before}")
        self.browser.wait("document.querySelector('#ports tbody tr').cells[1].textContent.endsWith('bit/s')")
        self.browser.wait("document.querySelector('#waits li') !== null")
        self.browser.wait("document.querySelector('#late tbody tr') !== null")
        self.assertRegex(self.text("#late tbody"), r"rank \d.*at \d.* s ago\d+ operations, .*\d+ of \d+ looks")
        self.assertIn("waits for", self.text("#waits"))
        self.assertEqual(self.text("#state"), "running")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('th:not([title]), .card:not([title])').length"), 0)
        # The line of the one job is blue; lines of ports that are as busy hide each other.
        self.browser.wait("""(() => { const c = document.querySelector("#jobs canvas");
            const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
            for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200 && d[i + 2] - d[i] > 60) return true;
            return false; })()""")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#ports .legend .line').length"), 8)
        # The report of the record so far, in a frame, with the code of the one that the run leaves behind.
        frame = "document.querySelector('#report iframe').contentDocument"
        # In the first second there may be nothing to draw, and what draws has the lowest priority.
        drawn, deadline = f"{frame}.querySelector('#timeline canvas') !== null", time.monotonic() + 2 * DEADLINE
        while not self.browser.evaluate(drawn) and time.monotonic() < deadline:
            self.browser.evaluate("""document.querySelector("#drawn").textContent === "drawing" ||
                document.querySelector("#draw").click()""")
            self.browser.frame()
        self.assertTrue(self.browser.evaluate(drawn), self.text("#drawn"))
        self.assertIn("is still at work", self.browser.evaluate(f"{frame}.body.innerText"))
        self.assertIn("Ranks", self.browser.evaluate(f"[...{frame}.querySelectorAll('h2')].map(h => h.textContent)"))
        self.assertFalse((self.folder / "run/report.html").exists(), "nothing of that is in the run folder")
        where = self.browser.evaluate("""(() => { const e = document.querySelector("#stop"); e.scrollIntoView({block: "center"});
            const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()""")
        self.browser.click(*where)
        self.browser.wait("!document.querySelector('#ended').hidden")
        self.browser.wait("document.querySelector('#drawn').textContent === 'of the whole run'")
        self.assertNotIn("is still at work", self.browser.evaluate(f"{frame}.body.innerText"))
        self.assertTrue(self.browser.evaluate(f"{frame}.querySelector('#timeline canvas') !== null"))
        self.assertIn("interrupted", self.text("#ended"))
        self.assertIn(f"{self.folder}/run/report.html", self.text("#ended"))
        self.assertEqual(self.text("#state"), "ended")
        self.assertTrue(self.browser.evaluate("document.querySelector('#lost').hidden"))
        self.expect_clean(live)
        summary, _ = self.end(live, FAILED)
        self.assertEqual(summary["verdict"], "interrupted")

    def test_a_narrow_dark_page_has_no_scrollbar_and_says_that_the_connection_is_lost(self):
        live = self.begin(name="n" * 128)
        self.open(live, 400, dark=True)
        self.browser.wait("Number(document.documentElement.dataset.updates) >= 2 && document.querySelector('#ports tbody tr') !== null")
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 400)
        self.assertEqual(self.browser.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(15, 20, 25)")
        live.process.kill()
        live.process.wait()
        self.browser.wait("!document.querySelector('#lost').hidden")
        self.assertTrue(self.browser.evaluate("document.querySelector('#stop').disabled"))
        self.assertIsNone(self.browser.evaluate("window.hurt"))

    def test_view_serves_runs_beside_each_other(self):
        quick = FEW_SECONDS | {"workload": {"generate": transformer()}, "name": HOSTILE[3]}
        folders = [self.call("simulate", quick, out=name).folder for name in ("one", "two")]
        with start("view", *folders, "--json") as process:
            self.addCleanup(process.kill)
            url = json.loads(process.stdout.readline())["url"]
            self.browser.size(1200, 900)
            self.browser.go(url)
            rows = self.browser.evaluate("[...document.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.innerText))")
            self.assertEqual([row[0] for row in rows], [f"{HOSTILE[3]}\n{folder}" for folder in folders])
            self.assertEqual({row[1] for row in rows}, {"ok"})
            self.assertEqual(self.browser.complaints, [])
            link = self.browser.evaluate("document.querySelectorAll('tbody a')[1].href")
            self.assertEqual(link, f"{url}1/report.html")
            self.browser.go(link)
            self.browser.wait("document.querySelector('table th button') !== null")  # which its script has made
            self.browser.frame()
            self.assertEqual(self.browser.complaints, [])
            self.assertEqual([other for other in self.browser.requests if not other.startswith((url, "data:"))], [])
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(DEADLINE), OK)

    def test_view_takes_finished_runs(self):
        self.assert_one_line_error(rankwire("view", self.folder), USAGE, str(self.folder), "no run that has ended")


if __name__ == "__main__":
    unittest.main()

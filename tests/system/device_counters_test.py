#!/usr/bin/env python3
"""Counters of devices under test beside a run: by hooks, and by gNMI against a server that speaks its messages."""

import concurrent.futures
import contextlib
import importlib
import importlib.util
import json
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import unittest

from pages import HOSTILE, PageTest
from rankwire import OK, SOURCE, RankwireTest, Run, rankwire, start

DEBIAN = "/usr/lib/python3/dist-packages"
HOUR_NS = 3600 * 10**9

# A device that is an hour ahead. Its counters grow with each call, and it writes down what it said, and when.
HOOK = """n=$(cat "$1" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$1"
t=$(date +%s%N); echo "$n $t" >> "$1.log"
echo "{\\"time_ns\\": $((t + 3600000000000)), \\"counters\\": {\\"Ethernet0\\": {\\"drops\\": $((n * 2)), \\"queue_depth\\": {\\"3\\": $((n % 2 * 4096))}}}}"
"""


def workload(duration="300ms"):
    """Two ranks behind the embedded switch compute and then add 1 MB up."""
    return {"name": "devices", "hosts": {"count": 2}, "ports": {"count": 2, "device": "memory", "rate": "10Gbps"},
            "workload": {"nodes": [{"name": "wait", "ranks": "0-1", "duration": duration},
                                   {"name": "sum", "ranks": "0-1", "kind": "all_reduce", "bytes": "1MB", "after": ["wait"]}]}}


class Hooks(RankwireTest):
    def hook(self, name="leaf1", **keys):
        script = self.folder / "hook.sh"
        script.write_text(HOOK, encoding="ascii")
        return {"name": name, "command": f"sh {script} {self.folder / name}", "interval": "20ms", "ports": {"Ethernet0": "p0"}} | keys

    def test_samples_are_on_the_runs_axis(self):
        run = self.call("run", workload() | {"device_counters": [self.hook()]})
        counters = run.summary["device_counters"]
        [device] = counters["devices"]
        lines = (self.folder / "leaf1.log").read_text(encoding="ascii").splitlines()
        said = {int(n): int(t) for n, t in map(str.split, lines)}
        self.assertEqual(device["samples"], len(said))
        self.assertEqual(device["failures"], 0)
        # Each stamp is of a time within its call: the clock is an hour ahead, but for the error that is told.
        self.assertAlmostEqual(device["clock_ahead_ns"], HOUR_NS, delta=device["clock_error_ps"] / 1000)
        self.assertEqual(device["clock_steps"], 0)
        rows = run.rows("device_counters", metric="drops")
        self.assertEqual([int(row["value"]) for row in rows], [2 * n for n in sorted(said)])
        # What one row has more than another the device's own clock had, but for both errors.
        first, last = rows[0], rows[-1]
        passed = said[int(last["value"]) // 2] - said[int(first["value"]) // 2]
        self.assertAlmostEqual((int(last["time_ps"]) - int(first["time_ps"])) / 1000, passed,
                               delta=(int(first["error_ps"]) + int(last["error_ps"])) / 1000)
        self.assertLess(int(first["time_ps"]), 0, "the first sample is before the run")
        self.assertGreater(int(last["time_ps"]), run.summary["emulated"]["completion_time_ps"], "the last is after it")
        [port] = counters["ports"]
        before = max(int(row["value"]) for row in rows if int(row["time_ps"]) <= 0)
        self.assertEqual((port["own_port"], port["dropped"], port["longest_queue_bytes"]),
                         ("p0", int(last["value"]) - before, 4096))
        # The embedded switch loses nothing, and this device says that it drops.
        self.assertEqual(port["lost_here"], 0)
        [sentence] = counters["disagreements"]
        self.assertIn(f"leaf1 counted {port['dropped']} drops, and none of the run's data packets was lost", sentence)
        self.assertIn(sentence, run.summary["diagnosis"]["findings"])
        self.assertEqual(run.summary["verdict"], "ok")

    def test_a_killed_run_has_what_was_counted_until_then(self):
        config = self.configuration(workload("60s") | {"device_counters": [self.hook()]})
        run = Run(self.folder / "run")
        with start("run", config, "--quiet", "--out", run.folder) as process:
            deadline = time.monotonic() + 60
            while (recorded := self.recorded(run.folder / "run.sqlite")) < 5:
                self.assertLess(time.monotonic(), deadline)
                self.assertIsNone(process.poll(), "the run goes on")
                time.sleep(0.1)
            process.kill()
            process.communicate()
        self.assertEqual(rankwire("report", run.folder).returncode, OK)
        said = (self.folder / "leaf1.log").read_text(encoding="ascii").splitlines()
        values = [int(row["value"]) for row in run.rows("device_counters", metric="drops")]
        self.assertGreaterEqual(len(values), recorded)
        # Each call says two more, the first of them 2; those after the last commit are not there.
        self.assertEqual(values, [2 * n for n in range(1, len(values) + 1)])
        self.assertLessEqual(len(values), len(said))
        trace = json.loads((run.folder / "timeline.json").read_text(encoding="utf-8"))
        self.assertIn("leaf1 Ethernet0 (to p0) drops", {event["name"] for event in trace["traceEvents"] if event["ph"] == "C"})

    @staticmethod
    def recorded(record):
        """Values of the counter `drops` that a run has written."""
        try:
            with contextlib.closing(sqlite3.connect(f"file:{record}?mode=ro", uri=True)) as database:
                return database.execute("SELECT count(*) FROM device_samples JOIN device_counters USING (run, counter) "
                                        "WHERE metric = 'drops'").fetchone()[0]  # fmt: skip
        except sqlite3.OperationalError:  # there is none yet
            return 0

    def test_what_fails_is_told_and_nothing_else_suffers(self):
        devices = [self.hook(),
                   {"name": "mute", "command": "sleep 60", "patience": "50ms"},
                   {"name": "rubbish", "command": "echo Interface Drops", "interval": "20ms"},
                   {"name": "gone", "command": "sh -c 'echo no route >&2; exit 255'", "stream": True, "interval": "20ms"}]
        run = self.call("run", workload("100ms") | {"device_counters": devices})
        self.assertEqual(run.summary["verdict"], "ok")
        warnings = {name: [text for text in run.summary["warnings"] if f"device_counters '{name}'" in text]
                    for name in ("leaf1", "mute", "rubbish", "gone")}
        self.assertEqual(warnings["leaf1"], [])
        for name, reason in (("mute", "did not end within 0.05 s"), ("rubbish", "no JSON object; it wrote: Interface Drops"),
                             ("gone", "ended with status 255; it wrote: no route")):
            self.assertEqual(len(warnings[name]), 1, warnings)
            self.assertIn(reason, warnings[name][0])
        self.assertEqual([device["samples"] > 0 for device in run.summary["device_counters"]["devices"]],
                         [True, False, False, False])

    def test_a_clock_that_is_set_is_a_step(self):
        hook = self.hook()
        script = self.folder / "hook.sh"
        # Ten seconds back from the third call on.
        script.write_text(HOOK.replace("t=$(date +%s%N)", "t=$(date +%s%N); [ $n -lt 3 ] || t=$((t - 10000000000))"), encoding="ascii")
        run = self.call("run", workload("600ms") | {"device_counters": [hook]})
        [device] = run.summary["device_counters"]["devices"]
        self.assertGreaterEqual(device["samples"], 3)
        self.assertEqual(device["clock_steps"], 1)
        times = [int(row["time_ps"]) for row in run.rows("device_counters", metric="drops")]
        self.assertEqual(times, sorted(times))

    def test_check_asks_once(self):
        config = self.configuration(workload() | {"device_counters": [self.hook(ports={"Ethernet0": "p0", "Ethernet8": "p1"})]})
        process = rankwire("check", config, "--no-measure", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        [device] = json.loads(process.stdout)["device_counters"]
        self.assertEqual((device["ports"], device["counters"]), (["Ethernet0"], {"drops": 1, "queue_depth": 1}))
        self.assertIn("device_counters 'leaf1': nothing was counted of 'Ethernet8'", process.stderr)
        asked = (self.folder / "leaf1").read_text(encoding="ascii")
        self.assertEqual(rankwire("check", config, "--no-measure", "--no-devices", "--json").returncode, OK)
        self.assertEqual((self.folder / "leaf1").read_text(encoding="ascii"), asked)


class Page(PageTest):
    """Names that are not meant well, and what the page draws."""

    def simulated(self):
        config = workload("100ms")
        text = self.folder / "sample.json"
        text.write_text(json.dumps({"counters": {name[:200]: {f"{name}"[:200]: 1, "queue_depth": {"3": 9000}} for name in HOSTILE}}),
                        encoding="utf-8")
        config["device_counters"] = [{"name": HOSTILE[0], "command": f"cat {text}", "interval": "20ms",
                                      "ports": {HOSTILE[0]: "p0"}}]
        return self.call("run", config, out=self.run_folder + "/run").folder / "report.html"

    def test_the_page_has_curves_and_figures(self):
        table = self.table("Counters of the devices")
        self.assertEqual([text for text, _ in self.column(table, "Device")], [HOSTILE[0]])
        [(within, _)] = self.column(table, "Times within")
        self.assertRegex(within, r"^[0-9.]+ (us|ms)$")
        section = table.removesuffix('.querySelector("table")').strip()
        figure = self.browser.evaluate(f"""(() => {{ const svg = {section}.querySelector("svg");
            return [svg.querySelector("title").textContent, svg.querySelectorAll("rect.ec").length,
                    [...svg.querySelectorAll("text")].map(t => t.textContent)]; }})()""")
        self.assertEqual(figure[0], "What devices counted over time")
        self.assertEqual(figure[1], len(HOSTILE), "a queue that is always as long is one rectangle")
        for name in HOSTILE:
            self.assertIn(name[:200], figure[2])


class Gnmi(RankwireTest):
    """With what protobuf's compiler makes of the messages, as any server has them."""

    def setUp(self):
        super().setUp()
        sys.path.append(DEBIAN)  # gRPC for Python is there, whichever Python this is
        self.addCleanup(sys.path.remove, DEBIAN)
        if shutil.which("protoc") is None or importlib.util.find_spec("grpc") is None:
            self.skipTest("a server of gNMI needs protoc and Python's grpc")
        subprocess.run(["protoc", f"--proto_path={SOURCE / 'emulator/gnmi'}", f"--python_out={self.folder}", "gnmi.proto"], check=True)
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        self.grpc, self.gnmi = importlib.import_module("grpc"), importlib.import_module("gnmi_pb2")
        self.requests, self.metadata, self.ended = [], [], threading.Event()
        self.addCleanup(self.ended.set)

    def serve(self, notifications, credentials=None):
        """A server that answers a subscription by what `notifications(request)` yields; its address."""
        def subscribe(requests, context):
            self.metadata.append(dict(context.invocation_metadata()))
            request = next(requests)
            self.requests.append(request)
            yield from notifications(request)

        server = self.grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=4))
        handler = self.grpc.stream_stream_rpc_method_handler(subscribe, self.gnmi.SubscribeRequest.FromString,
                                                             self.gnmi.SubscribeResponse.SerializeToString)
        server.add_generic_rpc_handlers([self.grpc.method_handlers_generic_handler("gnmi.gNMI", {"Subscribe": handler})])
        port = server.add_secure_port("127.0.0.1:0", credentials) if credentials else server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(server.stop, None)
        return f"127.0.0.1:{port}"

    def update(self, path, stamp=None, **value):
        """A notification of one value; `path`: names, or pairs of a name and its keys."""
        elements = [self.gnmi.PathElem(name=e) if isinstance(e, str) else self.gnmi.PathElem(name=e[0], key=e[1]) for e in path]
        note = self.gnmi.Notification(timestamp=time.time_ns() + HOUR_NS if stamp is None else stamp)
        note.update.add(path=self.gnmi.Path(elem=elements), val=self.gnmi.TypedValue(**value))
        return self.gnmi.SubscribeResponse(update=note)

    def device(self, target, **keys):
        gnmi = {"target": target, "paths": ["/interfaces"], "tls": False, "encoding": "proto"} | keys.pop("gnmi", {})
        return {"name": "leaf1", "gnmi": gnmi, "interval": "20ms", "ports": {"Ethernet0": "p0"}} | keys

    def run_with(self, device, duration="200ms"):
        run = self.call("run", workload(duration) | {"device_counters": [device]})
        if any("built without gRPC" in text for text in run.summary["warnings"]):
            self.skipTest("this build is without gRPC")
        return run

    def test_samples_of_all_kinds_of_values(self):
        port = ("interface", {"name": "Ethernet0"})
        queue = ("queue", {"name": "3"})

        def notifications(_):
            for count in range(1, 100_000):
                yield self.update(["interfaces", port, "state", "counters", "out-discards"], uint_val=count)
                yield self.update(["qos", "interfaces", ("interface", {"interface-id": "Ethernet0"}), "output", "queues", queue, "state"],
                                  json_ietf_val=json.dumps({"oc:max-queue-len": str(count * 100), "name": "3"}).encode())
                yield self.update(["COUNTERS", "Ethernet0"], json_val=b'{"SAI_PORT_STAT_PFC_3_TX_PKTS": "%d"}' % count)
                yield self.gnmi.SubscribeResponse(sync_response=True)
                if self.ended.wait(0.02):
                    return

        password = self.folder / "password"
        password.write_text("secret\n", encoding="ascii")
        device = self.device(self.serve(notifications), gnmi={
            "paths": ["/interfaces/interface[name=*]/state", "openconfig:/qos"], "path_target": "COUNTERS_DB", "username": "lab",
            "password_file": str(password)})
        run = self.run_with(device)
        [device] = run.summary["device_counters"]["devices"]
        self.assertEqual((device["kind"], device["failures"], device["clock_steps"]), ("gnmi", 0, 0))
        self.assertGreater(device["samples"], 5)
        # The stamps are an hour ahead. A sample arrives after its stamp, which bounds that from below.
        self.assertLessEqual(device["clock_ahead_ns"] - device["clock_error_ps"] / 1000, HOUR_NS)
        self.assertAlmostEqual(device["clock_ahead_ns"], HOUR_NS, delta=10**9)
        [port] = run.summary["device_counters"]["ports"]
        self.assertGreater(port["dropped"], 0)
        self.assertAlmostEqual(port["pfc_tx"], port["dropped"], delta=1)  # the run begins and ends between two updates
        self.assertGreaterEqual(port["longest_queue_bytes"], 100)
        self.assertEqual({row["queue"] for row in run.rows("device_counters", metric="queue_depth")}, {"3"})
        [request] = self.requests
        subscribe = request.subscribe
        self.assertEqual((subscribe.mode, subscribe.encoding, subscribe.prefix.target),
                         (subscribe.STREAM, self.gnmi.PROTO, "COUNTERS_DB"))
        self.assertEqual([(s.mode, s.sample_interval) for s in subscribe.subscription], [(self.gnmi.SAMPLE, 20_000_000)] * 2)
        self.assertEqual(subscribe.subscription[0].path.elem[1].key, {"name": "*"})
        self.assertEqual(subscribe.subscription[1].path.origin, "openconfig")
        self.assertEqual((self.metadata[0]["username"], self.metadata[0]["password"]), ("lab", "secret"))

    def test_on_change_begins_with_old_stamps(self):
        path = ["interfaces", ("interface", {"name": "Ethernet0"}), "state", "counters", "in-discards"]

        def notifications(_):
            yield self.update(path, stamp=1, uint_val=7)  # since 1970
            yield self.gnmi.SubscribeResponse(sync_response=True)
            self.ended.wait(0.1)
            yield self.update(path, uint_val=8)
            self.ended.wait()

        run = self.run_with(self.device(self.serve(notifications), gnmi={"mode": "on_change"}))
        [device] = run.summary["device_counters"]["devices"]
        self.assertEqual((device["samples"], device["clock_steps"]), (2, 0))
        self.assertIsNotNone(device["clock_error_ps"])
        self.assertEqual(self.requests[0].subscribe.subscription[0].mode, self.gnmi.ON_CHANGE)

    @unittest.skipIf(shutil.which("openssl") is None, "certificates are made by openssl")
    def test_a_certificate_is_looked_at(self):
        key, certificate = self.folder / "key.pem", self.folder / "leaf1.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                        "-subj", "/CN=leaf1.example", "-addext", "subjectAltName=DNS:leaf1.example", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)

        def notifications(_):
            for count in range(1, 100_000):
                yield self.update(["interfaces", ("interface", {"name": "Ethernet0"}), "state", "counters", "in-discards"], uint_val=count)
                if self.ended.wait(0.02):
                    return

        target = self.serve(notifications, self.grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())]))
        for name, samples in (("leaf1.example", True), ("leaf2.example", False)):
            run = self.run_with(self.device(target, patience="5s", gnmi={"tls": True, "ca": str(certificate), "server_name": name}), "50ms")
            [device] = run.summary["device_counters"]["devices"]
            self.assertEqual((device["samples"] > 0, device["failures"] == 0), (samples, samples), run.summary["warnings"])

    def test_a_device_that_refuses_or_is_not_there_is_named(self):
        def refuse(_):
            raise RuntimeError("no such path")
            yield  # a generator

        for target, reason in ((self.serve(refuse), "no such path"), ("127.0.0.1:1", "127.0.0.1:1: ")):
            run = self.run_with(self.device(target, patience="5s"), "50ms")
            [warning] = [text for text in run.summary["warnings"] if "device_counters 'leaf1'" in text]
            self.assertIn(reason, warning)
            self.assertEqual(run.summary["verdict"], "ok")


if __name__ == "__main__":
    unittest.main()

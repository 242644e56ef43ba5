#!/usr/bin/env python3
"""The Open Traffic Generator API, as a client without a library of its own speaks it."""

import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import unittest

from rankwire import BINARY, OK, SOURCE, USAGE, rankwire
from serving import MESSAGE, PATIENCE, SHARE, ServeTest, capture, otg, otg_of_ipv6, packets_of, transmit


class FlowTest(ServeTest):
    def test_flow_from_configuration_to_its_figures(self):
        with self.serve("--grpc", "none") as server:
            self.assertEqual(server.get("/config"), (200, {}))
            self.assertEqual(server.post("/config", otg()), (200, {"warnings": []}))
            self.assertEqual(server.get("/config"), (200, otg()))
            before = server.metrics("rocev2_ipv4")
            self.assertEqual(before, [{"name": "peer", "qp_configured": 1, "qp_up": 0, "qp_down": 1}])
            protocols = {"choice": "protocol", "protocol": {"choice": "all", "all": {"state": "start"}}}
            self.assertEqual(len(server.post("/control/state", protocols)[1]["warnings"]), 1)

            self.assertEqual(server.post("/control/state", transmit("start")), (200, {"warnings": []}))
            self.assertEqual(server.metrics("rocev2_ipv4", choice="per_peer", per_peer={"column_names": ["qp_up"]}),
                             [{"name": "peer", "qp_up": 1}])
            self.assert_refused(server.post("/config", otg()), 409, "r000001")
            ports = server.wait_for_frames("a")
            self.assertEqual((ports["a"]["transmit"], ports["a"]["link"], ports["a"]["location"]), ("started", "up", "ring"))
            [neighbour] = [row for row in server.post("/monitor/states", {"choice": "ipv4_neighbors"})[1]["ipv4_neighbors"]
                           if row["ethernet_name"] == "from.eth"]
            # Of two addresses that follow each other: 10.0.0.2 is the first.
            self.assertEqual(neighbour, {"ethernet_name": "from.eth", "ipv4_address": "10.0.0.2",
                                         "link_layer_address": "02:52:57:00:00:01"})
            self.assertEqual(server.post("/control/state", transmit("stop")), (200, {"warnings": []}))

            [row] = server.metrics("rocev2_flow")
            self.assertEqual((row["flow_name"], row["port_tx"], row["port_rx"]), ("flow", "a", "b"))
            self.assertEqual((row["src_ipv4"], row["dest_ipv4"]), ("10.0.0.3", "10.0.0.2"))
            self.assertGreater(row["message_complete_rx"], 0)
            self.assertEqual(row["rx_bytes"], row["message_complete_rx"] * MESSAGE)
            self.assertEqual(row["tx_bytes"], row["message_tx"] * MESSAGE)
            # write: 98 packets of 1024 bytes a message, and one for the immediate behind it; the last message may be under way.
            self.assertGreaterEqual(row["data_frames_tx"], row["message_complete_rx"] * 99)
            self.assertEqual(row["message_fail"], 0)
            # What was under way when it was stopped is no loss, and what was not sent again was not lost either.
            self.assertLess(row["data_frames_tx"] - row["data_frames_rx"], 64 * 99)  # of messages that may be under way
            self.assertLessEqual(row["frame_delta"], row["data_frames_retransmitted"])
            self.assertTrue(0 < row["min_latency"] <= row["avg_latency"] <= row["max_latency"], row)
            # The last packet of a message asks for an ACK, which may stand for several; nothing is lost.
            self.assertTrue(0 < row["ack_rx"] <= row["ack_tx"] <= row["data_frames_rx"], row)
            self.assertEqual(row["nak_tx"], 0)
            self.assertTrue(0 < int(row["first_timestamp"]) < int(row["last_timestamp"]), row)
            self.assertEqual(len(row), 32)
            [flow] = server.metrics("flow")
            self.assertEqual((flow["transmit"], flow["frames_tx"]), ("stopped", row["data_frames_tx"]))
            self.assertEqual(flow["loss"], 100 * row["frame_delta"] / row["data_frames_tx"])
            ended = server.wait("r000001")
            self.assertEqual(ended["verdict"], "interrupted")
            # What was run, as whoever reads it finds it. 20 % of 1 Gbit/s are so much payload: of a message the line has 98
            # packets with 82 bytes beside their payload each, RETH 16, and an empty packet of 82 with RETH and immediate 4.
            status, text = server.get("/rankwire/runs/r000001/files/configuration.yaml")
            [entry] = json.loads(text)["background"]
            self.assertEqual((status, entry["size"], entry["transport"]), (200, f"{MESSAGE}B", {"dscp": 26}))
            self.assertEqual(entry["rate"], f"{int(1e9 * SHARE / 100 * MESSAGE / (MESSAGE + 98 * 82 + 16 + 102))}bps")
            self.assertEqual(json.loads(text)["addresses"], {"ip": "10.0.0.2/24"})
            summary = json.loads(server.get("/rankwire/runs/r000001/files/summary.json")[1])
            self.assertEqual(summary["background"][0]["emulated"]["bytes_delivered"], row["rx_bytes"])
        self.assertEqual(server.process.returncode, 0, server.said)
        self.assertEqual(server.said[1], "")

    def test_ports_capture_what_they_send_and_receive(self):
        captures = [
            {"name": "all", "port_names": ["a"], "format": "pcapng", "packet_size": 100},
            # What port b receives of the flow: UDP to 10.0.0.2.
            {"name": "some", "port_names": ["b"], "packet_size": 64, "overwrite": False, "filters": [
                {"choice": "ipv4", "ipv4": {"dst": {"value": "0a000002", "mask": "00", "negate": False}, "protocol": {"value": "11"}}}]},
        ]  # fmt: skip
        with self.serve("--grpc", "none") as server:
            ask = {"port_name": "b"}
            self.assert_refused(server.post("/control/state", capture("start")), 400, "nothing is configured")
            self.assertEqual(server.post("/config", otg(captures=captures)), (200, {"warnings": []}))
            self.assert_refused(server.post("/monitor/capture", ask), 400, "no capture was started on port 'b'")
            self.assert_refused(server.post("/monitor/capture", {"port_name": "c"}), 400, "no port with 'captures'")
            self.assertEqual(server.post("/control/state", capture("start")), (200, {"warnings": []}))
            self.assertEqual([row["capture"] for row in server.metrics("port")], ["started", "started"])
            self.assertEqual(server.post("/control/state", transmit("start"))[0], 200)
            server.wait_for_frames("a")
            # While the run goes on; this ends the capture.
            early = packets_of(server.post("/monitor/capture", ask)[1])
            self.assertEqual({row["name"]: row["capture"] for row in server.metrics("port")}, {"a": "started", "b": "stopped"})
            self.assertEqual(server.post("/control/state", capture("start", "b"))[0], 200)
            server.wait_for_frames("a", server.metrics("port", port_names=["a"])[0]["frames_tx"] + 100)
            self.assertEqual(server.post("/control/state", transmit("stop"))[0], 200)
            late = packets_of(server.post("/monitor/capture", ask)[1])
            for packets in (early, late):
                self.assertGreater(len(packets), 100)
                # Ethernet 14 bytes, IPv4 20 with the destination at its end; RoCEv2 is UDP port 4791.
                self.assertEqual({(len(data), data[30:34], data[36:38]) for _, data in packets},
                                 {(64, bytes((10, 0, 0, 2)), (4791).to_bytes(2, "big"))})
            self.assertGreater(late[0][0], early[-1][0] - 1)
            # Bytes that say what they would be as text, which snappi asks for, are not guessed at.
            with contextlib.closing(server.connection()) as connection:
                connection.request("POST", "/monitor/capture", json.dumps(ask | {"packets": {"choice": "slice", "slice": {"initial": {"count": 1}}}}))
                self.assertEqual(connection.getresponse().getheader("Content-Type"), "application/octet-stream; charset=iso-8859-1")
            packets = {"choice": "slice", "slice": {"initial": {"start": "2", "count": 3}}}
            self.assertEqual(packets_of(server.post("/monitor/capture", ask | {"packets": packets})[1]), late[1:4])
            status, whole = server.post("/monitor/capture", {"port_name": "a"})
            self.assertEqual((status, whole[:4]), (200, bytes.fromhex("0a0d0d0a")))
            # An interface with the name of the port; each frame of 100 bytes is a block of 32 + 100 + 12.
            self.assertIn(b"\x02\x00\x01\x00a", whole[:80])
            self.assertGreater(len(whole), 144 * len(late))
            self.assert_refused(server.post("/control/state", capture("start", "c")), 400, "no port with 'captures'")
            link = {"choice": "port", "port": {"choice": "link", "link": {"state": "down"}}}
            self.assert_refused(server.post("/control/state", link), 400, "port.choice: is not served", "port.link: is not served")

    def test_captures_have_half_of_what_the_quota_leaves(self):
        captures = [{"name": "c", "port_names": ["a", "b"], "format": "pcapng"}]
        with self.serve("--grpc", "none", "--quota", "1000000") as server:
            for kept, overwrites in (({}, True), ({"overwrite": False}, False)):
                self.assertEqual(server.post("/config", otg(captures=[captures[0] | kept]))[0], 200)
                server.post("/control/state", capture("start"))
                self.assertEqual(server.post("/control/state", transmit("start"))[0], 200)
                # Each is there at two ports, as are its 1024 bytes of payload: 500 kB are full long before.
                server.wait_for_frames("a", 1000)
                self.assertEqual(server.post("/control/state", transmit("stop"))[0], 200)
                status, answer = server.post("/monitor/capture", {"port_name": "b"})
                if overwrites:
                    self.assertEqual(status, 507)
                    self.assertIn("bytes for what ports capture were full", answer["errors"][0])
                else:
                    self.assertEqual(status, 200)
                    self.assertLess(len(answer), 500_000)
                whole = (self.folder / "root" / "runs" / server.get("/rankwire/runs")[1]["runs"][-1]["id"] / "out" / "capture.pcapng").stat().st_size
                self.assertLess(whole, 501_000)  # with the names of ports
                self.assertGreater(whole, 480_000)

    def test_flows_are_added_changed_and_taken_away(self):
        config = otg()
        config["devices"][0]["rocev2"]["ipv4_interfaces"][0]["peers"][0]["qps"].append({"qp_name": "other"})
        further = {"name": "further", "tx_endpoint": "other", "rx_endpoint": "b", "message_size": 4, "message_size_unit": "kb"}
        tx_port = {"port_name": "a", "transmit_type": {"target_line_rate": {"flows": [further]}}}
        append = [{"choice": "stateful_flows", "stateful_flows": {"choice": "rocev2", "rocev2": [{"tx_ports": [tx_port]}]}}]
        update = {"choice": "flows", "flows": {"property_names": ["rate"], "flows": [
            {"name": "flow", "tx_rx": {"choice": "port", "port": {"tx_name": "a", "rx_names": ["b"]}},
             "rate": {"choice": "percentage", "percentage": 7.0}}]}}  # fmt: skip
        delete = [{"choice": "flows", "flows": ["further"]}]
        with self.serve("--grpc", "none") as server:
            self.assert_refused(server.ask("PATCH", "/config/append", append), 400, "nothing is configured")
            self.assertEqual(server.post("/config", config)[0], 200)
            self.assertEqual(server.ask("PATCH", "/config/append", {"config_append_list": append}), (200, {"warnings": []}))
            self.assertEqual([row["name"] for row in server.metrics("flow")], ["flow", "further"])
            self.assert_refused(server.ask("PATCH", "/config", update), 400, "port 'a' has other flows, too")
            self.assert_refused(server.ask("PATCH", "/config/append", append), 400, "'further' is named twice")
            self.assertEqual(server.ask("PATCH", "/config/delete", delete), (200, {"warnings": []}))
            self.assertEqual(server.get("/config"), (200, config))
            self.assertEqual(server.ask("PATCH", "/config", update), (200, {"warnings": []}))
            rate = server.get("/config")[1]["stateful_flows"]["rocev2"][0]["tx_ports"][0]["transmit_type"]["target_line_rate"]
            self.assertEqual(rate["value"], 7)
            self.assert_refused(server.ask("PATCH", "/config/delete", [{"choice": "flows", "flows": ["flow"]}]), 400, "no flow is there")
            self.assertEqual(server.post("/control/state", transmit("start"))[0], 200)
            self.assert_refused(server.ask("PATCH", "/config", update), 409, "r000001")

    def test_flows_by_ipv6(self):
        with self.serve("--grpc", "none") as server:
            captures = [{"name": "c", "port_names": ["b"], "filters": [{"choice": "ipv6", "ipv6": {"next_header": {"value": "11"}}}]}]
            self.assertEqual(server.post("/config", otg_of_ipv6() | {"captures": captures}), (200, {"warnings": []}))
            server.post("/control/state", capture("start"))
            self.assertEqual(server.post("/control/state", transmit("start"))[0], 200)
            self.assertEqual(server.metrics("rocev2_ipv6"), [{"name": "peer", "qp_configured": 1, "qp_up": 1, "qp_down": 0}])
            self.assertEqual(server.metrics("rocev2_ipv4"), [])
            server.wait_for_frames("a")
            neighbours = server.post("/monitor/states", {"choice": "ipv6_neighbors"})[1]["ipv6_neighbors"]
            self.assertIn({"ethernet_name": "from.eth", "ipv6_address": "2001:db8::2", "link_layer_address": "02:52:57:00:00:01"},
                          neighbours)  # fmt: skip
            server.post("/control/state", transmit("stop"))
            [row] = server.metrics("rocev2_flow")
            self.assertGreater(row["message_complete_rx"], 0)
            self.assertNotIn("src_ipv4", row)
            ask = {"port_name": "b", "packets": {"choice": "slice", "slice": {"initial": {"count": 1}}}}
            [(_, data)] = packets_of(server.post("/monitor/capture", ask)[1])
            # Ethernet 14 bytes, IPv6 40 with both addresses at their end; RoCEv2 is UDP port 4791.
            self.assertEqual((data[12:14].hex(), data[56:58]), ("86dd", (4791).to_bytes(2, "big")))
            self.assertEqual({data[22:38][-1], data[38:54][-1]}, {2, 3})

    def test_paused_traffic_goes_on_where_it_was(self):
        with self.serve("--grpc", "none") as server:
            server.post("/config", otg())
            self.assert_refused(server.post("/control/state", transmit("resume")), 409, "no traffic goes on")
            self.assertEqual(server.post("/control/state", transmit("start"))[0], 200)
            server.wait_for_frames("a")
            self.assertEqual(server.post("/control/state", transmit("pause")), (200, {"warnings": []}))
            self.assertEqual(server.metrics("flow")[0]["transmit"], "paused")
            self.assertEqual(server.get("/rankwire/runs/r000001")[1]["is_held"], True)
            # What the page says is half a second old; then nothing more is sent.
            before, frames, deadline = -1, 0, time.monotonic() + PATIENCE
            while frames != before:
                self.assertLess(time.monotonic(), deadline, "it goes on sending")
                before = frames
                time.sleep(0.6)
                frames = server.metrics("port", port_names=["a"])[0]["frames_tx"]
            self.assertEqual(server.metrics("rocev2_ipv4")[0]["qp_up"], 1)
            # All that was sent has arrived: of each message 98 packets of 1024 bytes and an immediate, or sent again.
            [row], [flow] = server.metrics("rocev2_flow"), server.metrics("flow")
            self.assertEqual((row["message_complete_rx"], row["rx_bytes"]), (row["message_tx"], row["message_tx"] * MESSAGE))
            self.assertGreaterEqual(row["data_frames_rx"], 99 * row["message_tx"])
            self.assertGreaterEqual(row["data_frames_tx"], row["data_frames_rx"])
            self.assertEqual((flow["frames_tx"], flow["frames_rx"]), (row["data_frames_tx"], row["data_frames_rx"]))
            self.assertEqual(server.post("/control/state", transmit("resume")), (200, {"warnings": []}))
            self.assertEqual(server.metrics("flow")[0]["transmit"], "started")
            server.wait_for_frames("a", before + 1000)
            self.assertEqual(server.post("/control/state", transmit("stop"))[0], 200)
            [row] = server.metrics("rocev2_flow")
            self.assertEqual(row["message_fail"], 0)
            # On a busy machine the loop may stand still for a time-out, whenever that is.
            self.assertLess(row["data_frames_retransmitted"], row["data_frames_tx"] / 10)
            summary = json.loads(server.get("/rankwire/runs/r000001/files/summary.json")[1])
            [held] = [float(found[1]) for text in summary["warnings"] if (found := re.match(r"nothing was posted for (\S+) s", text))]
            self.assertGreaterEqual(held, 1.2)  # two looks
            self.assert_refused(server.post("/rankwire/runs/r000001/hold", b""), 409, "does not run")

    def test_what_is_not_served_is_named(self):
        device = otg()["devices"]
        device[0]["bgp"] = {"router_id": "1.1.1.1"}
        device[0]["rocev2"]["ipv4_interfaces"][0]["peers"][0]["qps"][0]["connection_type"]["reliable_connection"]["initial_psn"] = 7
        far = otg()["devices"]
        far[0]["ethernets"][0]["ipv4_addresses"][0]["address"] = "10.0.0.9"
        with self.serve("--grpc", "none") as server:
            for body, *texts in (
                (otg(lags=[{"name": "l"}]), "lags: is not served"),
                (otg(flows=[{"name": "f"}]), "flows: is not served"),
                (otg(devices=device), "devices[0].bgp: is not served", "reliable_connection.initial_psn: is not served"),
                (otg(devices=far), "the address of port 'a' would be 10.0.0.3"),
                (otg(devices=[]), "no queue pair is called 'pair'"),
                (otg(ports=[{"name": "a"}, {"name": "a"}]), "ports[1].name: 'a' is named twice"),
                (otg(ports=[{"name": "a", "location": "net_tap0"}, {"name": "b"}]), "--device"),
                (otg(stateful_flows=None), "no flow is there"),
                (otg(layer1=[{"name": "l1", "port_names": ["c"]}]), "layer1[0].port_names: no port is called 'c'"),
                (otg(layer1="x"), "layer1: is no list"),
                (otg(zzz=None, lags=None), "lags: is not served", "zzz: is not served"),
                (b"", "no configuration came; {} takes away"),
                ([], "the request: is no object"),
                (b"{", "no JSON"),
                (b'{"ports": [{"name": "a"}, {"name": "b", "name": "a"}]}', "the key 'name' twice"),
                (b"[" * 100, "nested deeper"),
                (b"\xff", "no JSON"),
            ):
                with self.subTest(texts=texts):
                    self.assert_refused(server.post("/config", body), 400, *texts)
            self.assertEqual(server.get("/config"), (200, {}))
            form = b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\n{}\r\n--x--\r\n'
            for path in ("/config", f"/rankwire/files/{hashlib.sha256(form).hexdigest()}"):
                sent = server.ask("POST", path, form, **{"Content-Type": "multipart/form-data; boundary=x"})
                self.assert_refused(sent, 415, "curl --data-binary @FILE")
            self.assert_refused(server.post("/control/state", transmit("start")), 400, "set_config")
            self.assert_refused(server.post("/control/state", transmit("begin")), 400, "'begin' is not served; start, stop, pause")
            self.assert_refused(server.post("/control/state", {"choice": "port", "port": {}}), 400, "port.capture: is required")
            self.assert_refused(server.post("/monitor/metrics", {"choice": "bgpv4"}), 400, "'bgpv4' is not served")
            per_qp = {"choice": "rocev2_flow", "rocev2_flow": {"per_qp": {"column_names": ["first_packet"]}}}
            self.assert_refused(server.post("/monitor/metrics", per_qp), 400, "column_names[0]: 'first_packet'")
            self.assertEqual(server.post("/control/action", {})[0], 501)
            self.assert_refused(server.ask("PUT", "/config", {}), 405, "GET, POST and PATCH alone")
            self.assert_refused(server.ask("PATCH", "/control/state", {}), 405, "PATCH is of /config alone")
            self.assert_refused(server.ask("PATCH", "/config", {}, Origin="http://example.org"), 403, "another page")
            self.assertEqual(server.get("/")[0], 404)
            for path in ("../lock", "%2e%2e%2flock", "r000001", "r000001/files/..%2f..%2f..%2flock"):
                self.assertEqual(server.get(f"/rankwire/runs/{path}")[0], 404, path)
            self.assert_refused(server.ask("GET", "/config", Host="example.org"), 421, "loopback names")
            self.assert_refused(server.ask("POST", "/config", {}, Origin="http://example.org"), 403, "another page")


class DocumentTest(ServeTest):
    def document(self, language, part):
        """The one example in that language that has the part."""
        text = (SOURCE / "docs/serve.md").read_text(encoding="utf-8")
        [found] = [found for found in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL) if part in found]
        return found

    def run_document(self, server, *command):
        """What the command says, the last of whose words is an example."""
        *before, text = command
        found = [*before, text.replace("http://127.0.0.1:8443", server.where["rest"])]
        return subprocess.run(found, cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
                              env=os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}"})  # fmt: skip

    def test_the_documented_shell(self):
        if shutil.which("curl") is None:
            self.skipTest("the document's shell has curl")
        (self.folder / "flow.json").write_text(self.document("json", '"captures"'), encoding="utf-8")
        with self.serve("--grpc", "none") as server:
            done = self.run_document(server, "sh", "-e", "-c", self.document("sh", "$url/config"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([json.loads(line) for line in done.stdout.splitlines()], [{"warnings": []}] * 4)
        [row] = json.loads((self.folder / "flows.json").read_text(encoding="utf-8"))["rocev2_flow_per_qp_metrics"]
        self.assertGreater(row["message_complete_rx"], 0)
        self.assertGreater(len(packets_of((self.folder / "b.pcap").read_bytes())), 99)  # packets of a message

    def test_the_documented_job(self):
        if shutil.which("curl") is None:
            self.skipTest("the document's shell has curl")
        (self.folder / "rankwire").symlink_to(BINARY)
        script = self.document("python", "ai_workload")
        with self.serve("--grpc", "none") as server:
            done = self.run_document(server, "sh", "-e", "-c", self.document("sh", "$url/rankwire/files"))
            self.assertEqual(done.returncode, 0, done.stderr)
            # Traces of four ranks and their groups.
            kept = {json.loads(line)["sha256"] for line in done.stdout.splitlines() if line.startswith("{")}
            files = [*self.folder.glob("gpt.*")]
            self.assertEqual(len(files), 5)
            self.assertEqual(kept, {hashlib.sha256(file.read_bytes()).hexdigest() for file in files})
            done = self.run_document(server, sys.executable, "-B", "-c", script)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith("ok {"), done.stdout)
            # What the server refuses it says in its words.
            (self.folder / "gpt.json").unlink()
            done = self.run_document(server, sys.executable, "-B", "-c", script)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"\A/rankwire/runs: .*group.*\n\Z")


class WorkloadTest(ServeTest):
    CONFIGURATION = """
name: uploaded
workload: {traces: trace}
hosts: {count: 2, npus: 1, nics: 1}
ports: {count: 2, rate: 1Gbps}
run: {deadline: 60s}
"""

    def test_uploaded_traces_run_in_turn_and_old_runs_go(self):
        spec = self.configuration({"kind": "nodes", "nodes": [{"name": "sum", "ranks": "0-1", "kind": "all_reduce", "bytes": "1MB"}]})
        process = rankwire("trace", "generate", spec, "--out", self.folder / "trace")
        self.assertEqual(process.returncode, OK, process.stderr)
        traces = {path.name: path.read_bytes() for path in self.folder.glob("trace.*")}
        files = [{"name": name, "sha256": hashlib.sha256(data).hexdigest()} for name, data in sorted(traces.items())]
        workload = {"ai_workload": {"configuration": self.CONFIGURATION, "files": files}}
        with self.serve("--grpc", "none", "--keep", "2") as server:
            self.assert_refused(server.post("/config", workload), 400, "was not uploaded")
            digest = files[0]["sha256"]
            self.assert_refused(server.post(f"/rankwire/files/{digest}", b"other"), 400, "has the SHA-256")
            self.assert_refused(server.post("/rankwire/files/..", b""), 400, "64 small hexadecimal digits")
            known = set()  # ranks that do the same have equal traces
            for file in files:
                status = server.post(f"/rankwire/files/{file['sha256']}", traces[file["name"]])[0]
                self.assertEqual(status, 200 if file["sha256"] in known else 201)
                known.add(file["sha256"])
            self.assertEqual(server.post(f"/rankwire/files/{digest}", traces[files[0]["name"]])[0], 200)
            for line, change, text in (
                ("workload", "workload: {traces: /etc/passwd}", "'/etc/passwd' leads out of the folder"),
                ("workload", "workload: {traces: ../../files/x}", "leads out of the folder"),
                ("run", "dpdk: {eal_arguments: [--vdev=net_tap0]}", "dpdk: a section that is not served"),
                ("ports", "ports: {count: 2, device: 'net_tap0'}", "no device of this server"),
                ("run", "nonsense: {", "configuration.yaml:"),
            ):
                with self.subTest(text=text):
                    wrong = re.sub(f"(?m)^{line}:.*$", change, self.CONFIGURATION)
                    self.assert_refused(server.post("/config", {"ai_workload": {"configuration": wrong}}), 400, text)
            invalid = {"ai_workload": {"configuration": self.CONFIGURATION + "colour: red\n", "files": files}}
            self.assert_refused(server.post("/config", invalid), 400, "colour")

            self.assertEqual(server.post("/config", workload)[0], 200)
            self.assertEqual(server.post("/control/state", transmit("start"))[0], 200)
            self.assertEqual(server.wait("r000001")["verdict"], "ok")
            [row] = server.metrics("collective")
            self.assertEqual((row["kind"], row["bytes"], row["executions"]), ("all_reduce", 1_000_000, 2))
            queued = [server.post("/rankwire/runs", workload) for _ in range(2)]
            self.assertEqual([status for status, _ in queued], [202, 202])
            last = queued[-1][1]["id"]
            stopped = server.post(f"/rankwire/runs/{last}/stop", b"")[1]
            ended = server.wait(queued[0][1]["id"])
            self.assertEqual((ended["verdict"], ended["exit_status"]), ("ok", 0))
            self.assertEqual(server.wait(last)["state"], "ended", stopped)
            summary = json.loads(server.get(f"/rankwire/runs/{ended['id']}/files/summary.json")[1])
            # Of an all-reduce on two ranks each sends as much as it reduces.
            self.assertEqual((summary["bytes_wire"], summary["transport"]["payload_errors"]), (2_000_000, 0))
            event = server.get(f"/rankwire/runs/{ended['id']}/events")[1].decode()
            self.assertEqual(json.loads(event.removeprefix("data: "))["verdict"], "ok")
            # Those that had not ended when the last one came were kept; the next one has all but one of them go.
            server.wait(server.post("/rankwire/runs", workload)[1]["id"])
            listed = [run["id"] for run in server.get("/rankwire/runs")[1]["runs"]]
            self.assertEqual(len(listed), 2)
            self.assertEqual(server.post(f"/rankwire/runs/{listed[0]}/delete", b"")[0], 204)
            self.assertEqual(server.get(f"/rankwire/runs/{listed[0]}")[0], 404)
        # What is there is known to the next server.
        with self.serve("--grpc", "none") as server:
            [run] = server.get("/rankwire/runs")[1]["runs"]
            self.assertEqual((run["id"], run["verdict"], run["exit_status"]), (listed[1], "ok", 0))
            kept = {file["sha256"]: file for file in server.get("/rankwire/files")[1]["files"]}
            self.assertEqual(kept.keys(), known)
            self.assertEqual((kept[digest]["bytes"], kept[digest]["runs"] > 0), (len(traces[files[0]["name"]]), True))
            delete = f"/rankwire/files/{digest}/delete"
            self.assert_refused(server.post(delete, b""), 409, "a run has the file")
            self.assertEqual(server.post(f"/rankwire/runs/{run['id']}/delete", b"")[0], 204)
            self.assertEqual([server.post(delete, b"")[0] for _ in range(2)], [204, 404])

    def test_runs_go_on_beside_each_other(self):
        with self.serve("--grpc", "none", "--runs", "2") as server:
            runs = [server.post("/rankwire/runs", otg())[1]["id"] for _ in range(3)]
            deadline = time.monotonic() + PATIENCE
            while (states := [server.get(f"/rankwire/runs/{run}")[1]["state"] for run in runs]) != ["running", "running", "queued"]:
                self.assertLess(time.monotonic(), deadline, states)
                time.sleep(0.1)
            self.assertEqual(server.post("/config", otg())[0], 200)
            self.assert_refused(server.post("/control/state", transmit("start")), 409, f"run {runs[0]} goes on")
            for run in reversed(runs):
                self.assertEqual(server.post(f"/rankwire/runs/{run}/stop", b"")[0], 200)
            ended = [server.wait(run) for run in runs]
            self.assertEqual([run["verdict"] for run in ended], ["interrupted"] * 3)
            self.assertEqual([run["reason"] for run in ended], ["stopped by a signal"] * 2 + ["stopped before it began"])
            # There is room for two, but the API's configuration has one run at a time: 'stop' would end the last one alone.
            self.assertEqual(server.post("/control/state", transmit("start"))[0], 200)
            self.assert_refused(server.post("/control/state", transmit("start")), 409, "run r000004 goes on: stop it first")
            self.assertEqual(server.post("/control/state", transmit("stop"))[0], 200)
            self.assertEqual([run["state"] for run in server.get("/rankwire/runs")[1]["runs"]], ["ended"] * 4)


    def test_what_a_script_has_put_into_the_background_still_hears_of_stop(self):
        # As POSIX has it for `&` there: SIGINT is ignored, by the server and by what it starts.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            server = self.serve("--grpc", "none")
        finally:
            signal.signal(signal.SIGINT, before)
        with server:
            run = server.post("/rankwire/runs", otg())[1]["id"]
            while server.get(f"/rankwire/runs/{run}")[1]["state"] == "queued":
                time.sleep(0.001)
            server.post(f"/rankwire/runs/{run}/stop", b"")
            ended = server.wait(run)
            self.assertEqual(ended["verdict"], "interrupted")
            self.assertNotEqual(ended.get("exit_status"), 128 + signal.SIGKILL, ended)


class AccessTest(ServeTest):
    def test_token_limits_and_one_server_a_folder(self):
        token = self.folder / "token"
        token.write_bytes(b"0123456789abcdef \r\n")
        with self.serve("--grpc", "none", "--token", token, "--body", "1000", "--rate", "1000") as server:
            self.assertEqual(server.get("/config")[0], 401)
            self.assertEqual(server.ask("GET", "/config", Authorization="Bearer 0123456789abcdeF")[0], 401)
            for scheme in ("Bearer", "bearer"):  # RFC 7235, section 2.1
                self.assertEqual(server.ask("GET", "/config", Authorization=f"{scheme} 0123456789abcdef")[0], 200)
            # Of the user "token", as curl and Python's requests send what stands before @ in an address (RFC 7617).
            for user, status in (("token", 200), ("", 401)):
                password = base64.b64encode(f"{user}:0123456789abcdef".encode()).decode()
                self.assertEqual(server.ask("GET", "/config", Authorization=f"Basic {password}")[0], status)
            digest = hashlib.sha256(b" " * 1001).hexdigest()
            for path in ("/config", f"/rankwire/files/{digest}"):
                for body, how in ((b" " * 1001, {}), (b"3e9\r\n" + b" " * 1001 + b"\r\n0\r\n\r\n", {"Transfer-Encoding": "chunked"})):
                    large = server.ask("POST", path, body, Authorization="Bearer 0123456789abcdef", **how)
                    self.assert_refused(large, 413, "more than 1000 bytes (--body)")
            second = rankwire("serve", "--listen", "127.0.0.1:0", "--grpc", "none", "--root", self.folder / "root", timeout=PATIENCE)
            self.assert_one_line_error(second, USAGE, "another server uses it")
            taken = rankwire("serve", "--listen", f"127.0.0.1:{server.port}", "--grpc", "none", "--root", self.folder / "other",
                             timeout=PATIENCE)
            self.assert_one_line_error(taken, USAGE, "cannot listen")
        with self.serve("--grpc", "none", "--rate", "1") as server:
            statuses = [server.get("/config")[0] for _ in range(4)]
            self.assertEqual((statuses[0], statuses.count(429) > 0), (200, True))
        for arguments, text in (
            (("--listen", "0.0.0.0:0"), "needs --token FILE"),
            (("--listen", "here"), "is not ADDRESS:PORT"),
            (("--token", self.folder / "none"), "cannot be read"),
            (("--quota", "-5"), "--quota: takes a whole number, 0 or more, not '-5'"),
            (("--body", "-1"), "--body: takes a whole number, 0 or more, not '-1'"),
        ):
            process = rankwire("serve", "--grpc", "none", "--root", self.folder / "other", *arguments, timeout=PATIENCE)
            self.assert_one_line_error(process, USAGE, text)

    def test_those_that_do_not_go_on_keep_nobody_waiting(self):
        head = b"POST /config HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        with self.serve("--grpc", "none") as server, contextlib.ExitStack() as silent:
            for sent, count in ((head, 30), (head + b"Content-Length: 100\r\n\r\n{", 14)):
                for _ in range(count):
                    silent.enter_context(socket.create_connection(("127.0.0.1", server.port))).sendall(sent)
            self.assertEqual(server.get("/capabilities/version")[0], 200)
            # Of more than 64 the last ones are refused as whatever is refused; others are dropped meanwhile.
            deadline = time.monotonic() + PATIENCE
            while (answer := server.get("/capabilities/version"))[0] == 200:
                self.assertLess(time.monotonic(), deadline)
                for _ in range(64):
                    silent.enter_context(socket.create_connection(("127.0.0.1", server.port))).sendall(head)
            self.assertEqual((answer[0], answer[1]["errors"]), (503, ["too many connections at a time"]))

    def test_encrypted(self):
        certificate, key = self.certificate()
        tls = ("--certificate", certificate, "--key", key)
        # Of many records, in either direction.
        data = bytes(range(256)) * 20_000
        path = f"/rankwire/files/{hashlib.sha256(data).hexdigest()}"
        with self.serve("--grpc", "none", *tls, trusts=certificate) as server:
            self.assertEqual(server.where["rest"], f"https://127.0.0.1:{server.port}")
            self.assertEqual(server.ask("POST", path, data, Origin=server.where["rest"])[0], 201)
            self.assertEqual(server.get("/capabilities/version")[0], 200)
            self.assert_refused(server.ask("POST", path, b"", Origin=f"http://127.0.0.1:{server.port}"), 403, "another page")
            # Who does not encrypt, or wants no certificate of this one, is not answered, and keeps nobody from it.
            server.tls, known = None, server.tls
            with self.assertRaises(OSError):
                server.get("/config")
            server.tls = ssl.create_default_context()
            with self.assertRaises(ssl.SSLCertVerificationError):
                server.get("/config")
            server.tls = known
            self.assertEqual(server.get("/config"), (200, {}))
        self.assertEqual((server.process.returncode, server.said[1]), (0, ""))
        other, locked = self.certificate("other"), self.certificate("locked", "-passout", "pass:secret")
        for arguments, text in (
            (tls[:2], "--certificate requires --key"),
            (("--certificate", self.folder / "none", *tls[2:]), "none: No such file"),
            (("--certificate", key, *tls[2:]), f"--certificate {key}: no start line"),
            ((*tls[:2], "--key", other[1]), "key values mismatch; it takes the private key of"),
            (("--certificate", locked[0], "--key", locked[1]), "without passphrase"),
        ):
            process = rankwire("serve", "--grpc", "none", "--root", self.folder / "other", *arguments, timeout=PATIENCE)
            self.assert_one_line_error(process, USAGE, text)


if __name__ == "__main__":
    unittest.main()

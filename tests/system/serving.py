"""A server of the Open Traffic Generator API, and a client of it without a library of its own."""

import contextlib
import http.client
import json
import signal
import ssl
import struct
import subprocess
import time

from rankwire import RankwireTest, start

PATIENCE = 60  # seconds
MESSAGE = 100_000  # bytes
SHARE = 20  # percent of the line


def interface(name, port, address):
    """An Ethernet interface of a device, with an IPv4 address."""
    return {
        "name": f"{name}.eth",
        "connection": {"choice": "port_name", "port_name": port},
        "mtu": 1500,
        "ipv4_addresses": [{"name": f"{name}.ip", "address": address, "gateway": "10.0.0.1", "prefix": 24}],
    }


def otg(**changes):
    """Two ports, named against the order of their addresses, and a flow from the second address to the first.

    With all the defaults that snappi 1.61.0 sends, as it sends them.
    """
    connection = {"dscp": 26, "ecn": "ect_1", "initial_psn": "0", "remote_key": "00000000", "source_qp_number": 2,
                  "udp_source_port": 49152, "virtual_address": "0000000000000000"}  # fmt: skip
    pair = {"choice": "reliable_connection", "reliable_connection": connection}
    peer = {"name": "peer", "destination_ip_address": "10.0.0.2", "qps": [{"qp_name": "pair", "connection_type": pair}]}
    flow = {"name": "flow", "tx_endpoint": "pair", "rx_endpoint": "b", "message_size": MESSAGE // 1000, "message_size_unit": "kb"}
    rate = {"choice": "target_line_rate", "target_line_rate": {"value": str(SHARE), "flows": [flow]}}
    return {
        "ports": [{"name": "a", "location": "ring"}, {"name": "b", "location": "ring"}],
        "layer1": [{"name": "l1", "port_names": ["a", "b"], "speed": "speed_1_gbps", "mtu": 1500, "promiscuous": True}],
        "devices": [
            {
                "name": "from",
                "ethernets": [interface("from", "a", "10.0.0.3")],
                "rocev2": {"ipv4_interfaces": [{"ipv4_name": "from.ip", "ib_mtu": 1024, "peers": [peer]}]},
            },
            {"name": "to", "ethernets": [interface("to", "b", "10.0.0.2")]},
        ],
        "stateful_flows": {"choice": "rocev2", "rocev2": [{"tx_ports": [{"port_name": "a", "transmit_type": rate}]}]},
    } | changes


def otg_of_ipv6():
    """The same between 2001:db8::3 and 2001:db8::2."""
    config = otg()
    for device, last in zip(config["devices"], (3, 2)):
        [address] = device["ethernets"][0].pop("ipv4_addresses")
        device["ethernets"][0]["ipv6_addresses"] = [address | {"address": f"2001:db8::{last}", "gateway": "fe80::1", "prefix": 64}]
    [of_device] = config["devices"][0]["rocev2"].pop("ipv4_interfaces")
    of_device["ipv6_name"] = of_device.pop("ipv4_name")
    of_device["peers"][0]["destination_ip_address"] = "2001:db8::2"
    config["devices"][0]["rocev2"]["ipv6_interfaces"] = [of_device]
    return config


def transmit(state):
    return {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": state}}}


def capture(state, *ports):
    return {"choice": "port", "port": {"choice": "capture", "capture": {"port_names": list(ports), "state": state}}}


def packets_of(pcap):
    """Seconds, and bytes of each packet of a file of pcap with nanoseconds (draft-ietf-opsawg-pcap)."""
    magic, _, _, _, most, link = struct.unpack_from("<IIIIII", pcap)
    assert (magic, link) == (0xA1B23C4D, 1), pcap[:24]
    at, packets = 24, []
    while at < len(pcap):
        seconds, nanoseconds, kept, _ = struct.unpack_from("<IIII", pcap, at)
        assert kept <= most
        packets.append((seconds + nanoseconds / 1e9, pcap[at + 16 : at + 16 + kept]))
        at += 16 + kept
    return packets


class Server:
    """A server, which ends with the context."""

    def __init__(self, *options, trusts=None):
        """`trusts`: the certificate by which it is known, with TLS."""
        self.tls = ssl.create_default_context(cafile=trusts) if trusts else None
        self.process = start("serve", "--listen", "127.0.0.1:0", *options)
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.where = json.loads(line)
        self.port = int(self.where["rest"].rpartition(":")[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.said = self.process.communicate(timeout=PATIENCE)

    def connection(self):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method, path, body=None, **headers):
        """Status and body: JSON where it is."""
        connection = self.connection()
        with contextlib.closing(connection):
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            data = answer.read()
            is_json = answer.getheader("Content-Type") == "application/json"
            return answer.status, json.loads(data) if is_json else data

    def post(self, path, body):
        return self.ask("POST", path, body)

    def get(self, path):
        return self.ask("GET", path)

    def metrics(self, choice, /, **detail):
        status, answer = self.post("/monitor/metrics", {"choice": choice, choice: detail})
        assert status == 200, answer
        return answer[answer["choice"]]

    def wait_for_frames(self, port, frames=100):
        """Until the port has sent so many; what is known of all ports then, by name."""
        deadline = time.monotonic() + PATIENCE
        while (ports := {row["name"]: row for row in self.metrics("port")})[port].get("frames_tx", 0) < frames:
            assert time.monotonic() < deadline, ports
            time.sleep(0.1)
        return ports

    def wait(self, run):
        """What is known of a run once it has ended."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            status, answer = self.get(f"/rankwire/runs/{run}")
            if status != 200 or answer["state"] == "ended":
                return answer
            time.sleep(0.1)
        raise AssertionError(answer)


class ServeTest(RankwireTest):
    def serve(self, *options, **how):
        return Server("--root", self.folder / "root", *options, **how)

    def certificate(self, name="127.0.0.1", *options):
        """Files of a certificate that has signed itself, and of its key."""
        files = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2",
                        "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1],
                        *(options or ["-nodes"])], check=True, capture_output=True)  # fmt: skip
        return files

    def assert_refused(self, answer, status, *texts):
        self.assertEqual(answer[0], status, answer)
        self.assertEqual((answer[1]["code"], answer[1]["kind"]), (status, "validation"))
        for text in texts:
            self.assertIn(text, "\n".join(answer[1]["errors"]))

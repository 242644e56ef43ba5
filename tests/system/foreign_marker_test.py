"""Congestion that a device which is not ours tells of: a Linux bridge whose nftables mark above a rate.

A policer of the kernel (bridge family) sets Congestion Experienced in those ECN-capable packets from port p0 that
exceed a rate. It drops nothing and holds nothing up, so who does not listen to marks is not slowed down. Both ends are
DPDK ports on veth pairs.

The rule that DCQCN must keep: over the second half of its messages, when its rate has settled, it sends between LEAST
and MOST times the marking rate. The same load without congestion control keeps above UNHEEDED times that rate, of the
11 times that its port could send (400 Mb/s, 1106 B on the line for each packet).
"""

import contextlib
import json
import sqlite3
import unittest

import chakra
from bridge import BridgeTest, command

MTU = 1024
MESSAGES, MESSAGE = 100, 1 << 16  # from ranks 0 and 1, behind p0, to ranks 2 and 3, behind p1

LEAST, MOST, UNHEEDED = 0.7, 1.15, 1.3
MARKING_RATE = 4000  # packets a second. A limit in bytes would first let pass what a whole second may have.
RULES = """
table bridge dut {
  counter marked { }
  counter spared { }
  chain excess {
    limit rate 4000/second burst 200 packets return
    ip ecn { ect0, ect1 } ip ecn set ce counter name marked
    ip6 ecn { ect0, ect1 } ip6 ecn set ce counter name marked
    ip ecn not-ect counter name spared
  }
  chain forward {
    type filter hook forward priority 0; policy accept;
    iifname dut0 udp dport 4791 jump excess
  }
}
"""

# DCQCN for two queue pairs that share the marking rate, a packet every 500 us of each: the factory's clocks, made for
# lines a hundred times as fast, would forget a CNP before the next packet is sent.
DCQCN = {
    "algorithm": "dcqcn",
    "rp_dce_tcp_rtt": "2ms",
    "rp_dce_tcp_g": 960,  # g = 1/16
    "rp_rate_reduce_monitor_period": "2ms",
    "rp_time_reset": "20ms",
    "rp_byte_reset": "0B",
    "rp_threshold": 5,
    "rp_ai_rate": "1Mbps",
    "rp_hai_rate": "2Mbps",
    "np_min_time_between_cnps": "1ms",
}


class ForeignMarker(BridgeTest):
    PORTS = 2
    TOOLS = ("ip", "nft")

    def build(self):
        super().build()
        command("ip", "netns", "exec", self.far, "nft", "-f", "-", input=RULES)

    def counted(self):
        """Packets by counter of the kernel's table."""
        text = command("ip", "netns", "exec", self.far, "nft", "--json", "list", "counters", "table", "bridge", "dut")
        counters = [entry["counter"] for entry in json.loads(text)["nftables"] if "counter" in entry]
        return {counter["name"]: counter["packets"] for counter in counters}

    def run_over_bridge(self, out, **changes):
        prefix = self.folder / "flow"
        traffic = [[], [], [], []]
        for rank in range(2):
            size = {"comm_size": MESSAGE}
            for i in range(MESSAGES):
                to = {"comm_src": rank, "comm_dst": rank + 2, "comm_tag": i}
                traffic[rank].append(chakra.Node(i, f"send{i}", chakra.SEND, attributes=size | to))
                traffic[rank + 2].append(chakra.Node(i, f"receive{i}", chakra.RECEIVE, attributes=size | to))
        chakra.write_ranks(prefix, traffic)
        config = {
            "workload": {"traces": str(prefix)},
            "concurrency": {"communication": MESSAGES},
            "hosts": {"count": 2, "npus": 2, "nics": 1},
            "mapping": {"policy": "block"},
            "ports": [
                {"name": f"p{port}", "device": f"net_af_packet{port},iface=rw{port}", "rate": "400Mbps"}
                for port in range(2)
            ],
            "switch": {"latency": "20us"},
            "transport": {
                "mtu": f"{MTU}B",
                "window": 128,
                "checking": True,
                "markings": {"ack": {"ecn": False}, "nak": {"ecn": False}, "cnp": {"ecn": False}},
            },
            "record": {"messages": "all"},
            "dpdk": {"eal_arguments": ["--no-pci"]},
            "run": {"deadline": "60s"},
        }
        config["transport"] |= changes.pop("transport", {})
        before = self.counted()
        run = self.call("run", config | changes, out=out, prefix=self.inside())
        # No ICRC or checksum error either: the marker changes the packet, and the ICRC does not cover what it changes.
        self.assert_delivered(run)
        self.assertEqual(run.transport["malformed"], 0)
        counted = {name: packets - before[name] for name, packets in self.counted().items()}
        return run, counted

    def rate(self, run, first, last):
        """Packets a second between two quantiles of the messages in the order of arrival."""
        with contextlib.closing(sqlite3.connect(f"file:{run.folder}/run.sqlite?mode=ro", uri=True)) as record:
            rows = record.execute(
                "SELECT delivered_ps, messages.bytes FROM messages JOIN runs USING(run) WHERE fidelity='emulated' "
                "ORDER BY delivered_ps"
            ).fetchall()
        self.assertEqual(len(rows), 2 * MESSAGES)
        begin, end = int(first * len(rows)), int(last * len(rows)) - 1
        payload = sum(size for _, size in rows[begin + 1 : end + 1])
        return payload / MTU / ((rows[end][0] - rows[begin][0]) / 1e12)

    def show(self, name, run, counted, rate):
        details = run.summary["transport_details"]
        print(
            f"{name}: {rate / MARKING_RATE:.3f} x {MARKING_RATE} packets/s, marks {counted['marked']} set by "
            f"the bridge and {run.transport['ecn_ce_rx']} received, CNPs {details['np_cnp_sent']} sent and "
            f"{details['rp_cnp_handled']} handled, {run.transport['retransmitted']} sent again, "
            f"{run.summary['fidelity']}",
            flush=True,
        )

    def assert_marks_arrive(self, run, counted):
        """What is in flight fits into the receiver's ring, so every packet that the bridge has marked arrives."""
        self.assertGreater(counted["marked"], 0)
        self.assertEqual(run.transport["ecn_ce_rx"], counted["marked"])

    def test_dcqcn_keeps_to_the_marking_rate(self):
        run, counted = self.run_over_bridge("dcqcn", transport={"congestion_control": DCQCN})
        rate = self.rate(run, 0.5, 1)
        self.show("dcqcn", run, counted, rate)
        self.assert_marks_arrive(run, counted)
        details = run.summary["transport_details"]
        self.assertEqual(details["np_ecn_marked_roce_packets"], counted["marked"])
        self.assertGreater(details["np_cnp_sent"], 0)
        self.assertLess(details["np_cnp_sent"], counted["marked"])  # fewer: they are 1 ms apart
        self.assertEqual(details["np_cnp_sent"], run.transport["cnp_tx"])
        # All at the receiver, and all of them at the sender.
        self.assertEqual(run.transport["cnp_rx"], run.transport["cnp_tx"])
        self.assertEqual(details["rp_cnp_handled"], run.transport["cnp_rx"])
        self.assertEqual(details["rp_cnp_ignored"], 0)
        ports = {row["name"]: row for row in run.rows("ports", fidelity="emulated")}
        self.assertEqual(ports["p1"]["np_ecn_marked_roce_packets"], str(counted["marked"]))
        self.assertEqual(ports["p1"]["np_cnp_sent"], ports["p0"]["rp_cnp_handled"])
        self.assertEqual(ports["p0"]["rp_cnp_handled"], str(details["rp_cnp_handled"]))
        self.assertGreater(rate, LEAST * MARKING_RATE)
        self.assertLess(rate, MOST * MARKING_RATE)

    def test_without_congestion_control_marks_slow_nobody_down(self):
        run, counted = self.run_over_bridge("none")
        rate = self.rate(run, 0, 1)
        self.show("none", run, counted, rate)
        self.assert_marks_arrive(run, counted)
        self.assertEqual(run.transport["cnp_tx"], 0)
        self.assertGreater(rate, UNHEEDED * MARKING_RATE)

    def test_packets_that_are_not_ecn_capable_are_spared(self):
        run, counted = self.run_over_bridge("spared", transport={"ecn": False})
        self.show("not ECN-capable", run, counted, self.rate(run, 0, 1))
        self.assertGreater(counted["spared"], 0)
        self.assertEqual(counted["marked"], 0)
        self.assertEqual(run.transport["ecn_ce_rx"], 0)

    def test_marks_in_ipv6(self):
        control = {"np_enable": True, "np_min_time_between_cnps": "0us"}
        addresses = {"ip": "2001:db8::1/64"}
        run, counted = self.run_over_bridge("ipv6", addresses=addresses, transport={"congestion_control": control})
        self.show("IPv6", run, counted, self.rate(run, 0, 1))
        self.assert_marks_arrive(run, counted)
        # Each mark is answered, and without an algorithm nobody heeds that.
        self.assertEqual(run.summary["transport_details"]["np_cnp_sent"], counted["marked"])
        self.assertEqual(run.summary["transport_details"]["rp_cnp_ignored"], counted["marked"])


if __name__ == "__main__":
    unittest.main()

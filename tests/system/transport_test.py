"""Every way in which the transport can carry a job, against the embedded switch in virtual time, with payloads checked
and frames lost: each message once and unharmed, whatever it travels by. And some of them in real time over DPDK."""

import unittest

from rankwire import FAILED, SOURCE, RankwireTest, Run, rankwire, transformer

WAYS = {
    "send": {"transport": {"verb": "send_imm"}},
    "write_then_imm": {"transport": {"verb": "write_then_imm"}},
    "read": {"transport": {"verb": "read"}},
    "split": {"transport": {"queue_pairs": 3}},
    "deal": {"transport": {"queue_pairs": 16, "spread": "deal", "verb": "send_imm"}},
    "read_split": {"transport": {"queue_pairs": 4, "verb": "read", "read_depth": 2}},
    "receive_queue": {"transport": {"receive_queue": 1, "rnr_timer": 1}},
    "mlx5": {"transport": {"profile": "mlx5", "timeout": 8}},
    "rxe": {"transport": {"profile": "rxe"}},
    "ipv6": {"addresses": {"ip": "2001:db8::1/64"}, "transport": {"source_port": "per_packet"}},
    "vlan": {"addresses": {"vlan": 7}, "transport": {"source_port": "per_message", "neighbours": "resolve"}},
    "ipv6_vlan": {"addresses": {"ip": "2001:db8::1/64", "vlan": 7}, "transport": {"neighbours": "resolve"}},
    "nccl": {"collectives": {"profile": "nccl"}},
    "nccl_split": {"collectives": {"profile": "nccl"}, "transport": {"queue_pairs": 2}},
}


class Ways(RankwireTest):
    def config(self, way, loss="0%"):
        config = {
            "workload": {"generate": transformer(layers=2)},
            "hosts": {"count": 4, "npus": 2},
            "ports": {"count": 4, "device": "ring", "rate": "2Gbps"},
            "switch": {"loss": loss},
        }
        config |= way
        config["transport"] = {"checking": "on", "mtu": "1024B"} | way.get("transport", {})
        return config

    def test_with_loss(self):
        for name, way in WAYS.items():
            with self.subTest(way=name):
                run = self.call("simulate", self.config(way, "0.2%"), "--twin", out=name)
                self.assert_delivered(run)
                self.assertGreater(run.transport["retransmitted"], 0)

    def test_without_loss(self):
        """Nothing is sent again, but for a receiver that was not ready."""
        for name, way in WAYS.items():
            with self.subTest(way=name):
                run = self.call("simulate", self.config(way), "--twin", out=f"{name}.clean")
                self.assert_delivered(run)
                if name != "receive_queue":
                    self.assertEqual(run.transport["retransmitted"], 0)
                self.assertEqual(run.transport["timeouts"], 0)

    def test_in_real_time(self):
        for name in ("read_split", "vlan", "ipv6_vlan", "nccl_split"):
            with self.subTest(way=name):
                run = self.call("run", self.config(WAYS[name], "0.1%"), out=f"{name}.real")
                self.assert_delivered(run)

    def test_a_pair_that_fails_stops_nobody_else(self):
        """Queue pairs that give up at once, in a run that is to go on: it ends by itself, and says what was lost."""
        for name in ("split", "read", "read_split", "write_then_imm"):
            with self.subTest(way=name):
                config = self.config(WAYS[name], "3%")
                config["transport"]["retry_count"] = 1
                config["run"] = {"on_failure": "continue"}
                run = self.call("simulate", config, "--twin", out=f"{name}.failing", status=FAILED)
                self.assertEqual(run.summary["verdict"], "failed", run.summary["reason"])
                self.assertIn("messages failed", run.summary["reason"])
                self.assertGreater(run.transport["messages_delivered"], 0)

    def test_header_and_trailer_check(self):
        """Less is looked at on the way in, everything else is the same, byte for byte."""
        config = self.config({})
        config["transport"] = {"mtu": "1024B", "receive_check": "header_and_trailer"}
        quick = self.call("simulate", config, "--twin", out="quick")
        self.assert_delivered(quick)
        config["transport"] = {"mtu": "1024B"}
        whole = self.call("simulate", config, "--twin", out="whole")
        self.assertEqual(quick.summary["emulated"], whole.summary["emulated"])
        self.assertEqual(quick.transport, whole.transport)

    def test_shipped_nccl_configuration(self):
        run = self.call("simulate", SOURCE / "configs/nccl.yaml", "--twin")
        self.assert_delivered(run)
        control = [row for row in run.rows("flows") if row["control"] == "1"]
        self.assertGreater(sum(int(row["messages"]) for row in control), 0)

    def test_a_gateway_is_not_asked_for_what_is_on_the_link(self):
        config = self.config({"addresses": {"gateway": "198.18.0.200"}})
        config["transport"] |= {"neighbours": "resolve", "resolve_deadline": "200ms", "resolve_interval": "20ms"}
        self.assert_delivered(self.call("simulate", config, "--twin"))

    def test_a_next_hop_that_does_not_answer_is_named(self):
        config = self.config({})
        config["hosts"] = {"count": 2, "npus": 4}
        config["ports"] = [{"device": f"net_null{i}", "rate": "1Gbps"} for i in range(2)]
        config["transport"] |= {"resolve_deadline": "200ms", "resolve_interval": "20ms"}
        process = rankwire("run", self.configuration(config), "--quiet", "--out", self.folder / "run")
        self.assert_one_line_error(process, FAILED, "198.18.0.", "no answer to ARP in 0.2 s")
        summary = Run(self.folder / "run").summary
        self.assertEqual((summary["verdict"], summary["reason_code"]), ("failed", "not_connected"))
        self.assertIsNone(summary["emulated"]["completion_time_ps"])
        self.assertIn("no answer to ARP in 0.2 s", summary["reason"])
        # What was to be expected is told all the same.
        self.assertEqual([(model["model"], model["verdict"]) for model in summary["models"]], [("flow", "ok")])


if __name__ == "__main__":
    unittest.main()

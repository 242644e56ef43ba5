"""What counts as lost: every data packet that was dropped, and nothing else. In virtual time, where nothing is lost but what
rules drop."""

import unittest

from rankwire import RankwireTest, transformer


class Losses(RankwireTest):
    def losses(self, *rules, ports="100Gbps", **transport):
        """The losses of a ring of four ranks, and the packets from port to port that have some."""
        step = transformer(layers=1, hidden=512, tensor_parallel=1, pipeline_parallel=1, data_parallel=4, micro_batches=1)
        config = {
            "workload": {"generate": step},
            "hosts": {"count": 4, "npus": 1},
            "ports": {"count": 4, "device": "memory", "rate": ports},
            "transport": {"mtu": "1024B"} | transport,
            "impairments": list(rules),
        }
        run = self.call("simulate", config, "--twin")
        pairs = {(row["source_name"], row["destination_name"]): int(row["lost"]) for row in run.rows("losses")}
        losses = run.summary["diagnosis"]["losses"]
        self.assertEqual(sum(pairs.values()), losses["lost"])
        return losses, {pair: lost for pair, lost in pairs.items() if lost > 0}, run

    def test_what_comes_late_is_no_loss(self):
        """What a NAK asks for comes right behind its delayed original: that is sent twice, and arrives twice."""
        for rule in ({"action": "reorder", "behind": 3, "every": 40}, {"action": "delay", "delay": "200us", "every": 20}):
            with self.subTest(rule=rule["action"]):
                losses, pairs, run = self.losses(rule | {"class": "data"}, ports="1Gbps")
                self.assertGreater(run.transport["retransmitted"], 100)
                self.assertEqual((losses["lost"], pairs), (0, {}))

    def test_what_the_network_repeats_is_no_loss(self):
        losses, pairs, run = self.losses({"action": "duplicate", "class": "data", "every": 3})
        self.assertGreater(run.summary["impairments"]["rules"][0]["done"], 1000)
        self.assertEqual((losses["lost"], pairs), (0, {}))

    def test_responses_of_reads_are_lost_on_their_way(self):
        rule = {"action": "drop", "class": "read_response", "port": "p1", "every": 200}
        _, pairs, run = self.losses(rule, verb="read")
        self.assertGreater(run.summary["impairments"]["rules"][0]["done"], 20)
        self.assertEqual(pairs, {("p1", "p2"): run.summary["impairments"]["rules"][0]["done"]})

    def test_what_is_under_way_at_the_end_is_not_lost(self):
        """Timers expire after 16 us, and the acknowledgement that ends a rank's last message comes after 17: it finds what was
        sent again on its way."""
        losses, _, run = self.losses({"action": "delay", "class": "ack", "delay": "17us"}, timeout=2)
        self.assertGreater(run.transport["retransmitted"], 1000)
        self.assertEqual(run.transport["data_packets_rx"], run.transport["data_packets_tx"])
        self.assertEqual(losses["lost"], 0)


if __name__ == "__main__":
    unittest.main()

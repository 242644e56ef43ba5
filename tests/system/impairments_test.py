"""Impairments named in terms of the workload, in virtual time: what they cause follows from the protocol, exactly.

Two ranks gather 64 KiB from each other: one message each way, of 16 packets of 4096 B. At 10 Gbps a packet takes 3.34 us
and the way through the switch about 5 us more.
"""

import unittest

import chakra
from rankwire import SOURCE, USAGE, RankwireTest, rankwire

PACKETS = 16
SIZE = PACKETS * 4096


class Impairments(RankwireTest):
    def config(self, *rules, iterations=1, **transport):
        prefix = self.folder / "gather"
        nodes = [chakra.collective(chakra.ALL_GATHER, SIZE, name="exchange")]
        chakra.write_ranks(prefix, [nodes, nodes])
        return {
            "workload": {"traces": str(prefix), "iterations": iterations},
            "ports": {"count": 2, "rate": "10Gbps"},
            "transport": {"checking": True} | transport,
            "impairments": list(rules),
        }

    def twin(self, *rules, out="run", **config):
        run = self.call("simulate", self.config(*rules, **config), "--twin", out=out)
        summary = run.summary
        self.assertEqual(summary["transport"]["messages_delivered"], summary["messages"])
        for name in ("messages_lost", "messages_duplicated", "payload_errors"):
            self.assertEqual(summary["transport"][name], 0, name)
        return run

    def assert_done(self, run, *counts):
        self.assertEqual([rule["done"] for rule in run.summary["impairments"]["rules"]], list(counts))
        self.assertEqual(run.summary["impairments"]["events"], sum(counts))
        self.assertEqual(run.summary["impairments"]["unrecorded"], 0)
        self.assertEqual(len(run.rows("impairments")), sum(counts))

    def assert_transport(self, run, **expected):
        self.assertEqual({name: run.transport[name] for name in expected}, expected)

    def assert_named(self, run, sender, receiver):
        """mlx5's counters of loss: of the queue pair from rank 0 to 1, and of either rank and port."""
        names = ["out_of_sequence", "duplicate_request", "out_of_buffer", "packet_seq_err", "implied_nak_seq_err"]
        names += ["local_ack_timeout_err", "rnr_nak_retry_err"]
        (flow,) = run.rows("flows", fidelity="twin", source="0", destination="1")
        ranks, ports = (run.rows(table, fidelity="twin") for table in ("ranks", "ports"))
        by_name = {row["name"]: row for row in ports}
        for name in names:
            own = [sender.get(name, 0), receiver.get(name, 0)]
            self.assertEqual(int(flow[name]), sum(own), name)
            self.assertEqual([int(row[name]) for row in ranks], own, name)
            self.assertEqual([int(by_name[port][name]) for port in ("p0", "p1")], own, name)

    def test_without_rules_there_is_nothing(self):
        run = self.twin()
        self.assertIsNone(run.summary["impairments"])
        self.assertEqual(run.rows("impairments"), [])
        self.assert_transport(run, retransmitted=0, naks=0, timeouts=0)

    def test_drop_of_one_packet_of_an_operation(self):
        # Packet 15 shows that 14 is missing: one NAK, upon which 14 and 15 are sent again. In iteration 1 nothing is lost.
        rule = {"action": "drop", "class": "data", "operation": "exch*", "rank": 0, "peer": 1, "iteration": 0, "packet": 14}
        run = self.twin(rule, iterations=2)
        self.assert_done(run, 1)
        self.assert_transport(run, naks=1, naks_tx=1, retransmitted=2, out_of_sequence=1, timeouts=0, duplicate_packets=0)
        (event,) = run.rows("impairments")
        expected = {
            "fidelity": "twin",
            "rule": "0",
            "action": "drop",
            "port_name": "p0",
            "direction": "transmit",
            "source": "0",
            "destination": "1",
            "operation": "exchange",
            "packet": "14",
            "opcode": "WRITE_MIDDLE",
        }
        self.assertEqual({key: event[key] for key in expected}, expected)
        self.assertIn("iteration 0 rank 0 -> 1 step 0", event["message"])
        self.assert_named(run, {"packet_seq_err": 1}, {"out_of_sequence": 1})

    def test_tail_drop_is_repaired_by_time_out_only(self):
        run = self.twin({"action": "drop", "class": "data", "rank": 1, "packet": "last"})
        self.assert_done(run, 1)
        # Only the last packet of 16 asks for an acknowledgement (ack_every is 32): the sender begins again with packet 0.
        # The answer to it, that all but the last have arrived, takes two packets' time (the switch forwards whole frames)
        # and 2.5 us, so three packets have left when it is there. Then the last one follows.
        self.assert_transport(run, naks=0, timeouts=1, retransmitted=4, duplicate_packets=3)

    def test_corrupted_icrc_is_found(self):
        for direction in ("transmit", "receive"):
            with self.subTest(direction=direction):
                rule = {"action": "corrupt", "target": "icrc", "class": "data", "direction": direction, "every": 5}
                run = self.twin(rule, iterations=4, out=direction)
                done = run.summary["impairments"]["rules"][0]["done"]
                # 2 x 4 x 16 first transmissions.
                self.assertEqual(done, 128 // 5)
                self.assert_transport(run, icrc_errors=done, malformed=0)

    def test_duplicates_are_counted(self):
        run = self.twin({"action": "duplicate", "class": "data", "every": 4})
        self.assert_done(run, 8)
        self.assert_transport(run, duplicate_packets=8, retransmitted=0, naks=0)

    def test_delay_by_less_than_the_time_out(self):
        plain = self.twin()
        delayed = self.twin({"action": "delay", "delay": "100us", "class": "data", "packet": "last"}, out="delayed")
        self.assert_done(delayed, 2)
        times = [run.summary["emulated"]["completion_time_ps"] for run in (plain, delayed)]
        # A packet alone does not wait for the gap behind the one before: 12 bytes, 9.6 ns.
        self.assertLessEqual(abs(100_000_000 - 4_800 - (times[1] - times[0])), 4_800)
        self.assert_transport(delayed, retransmitted=0, timeouts=0)

    def test_forged_answers(self):
        # Packet 15 is the last: everything has been sent when the NAK for it arrives, and only it is sent again.
        last = {"rank": 0, "packet": 15, "direction": "receive"}
        run = self.twin({"action": "forge_nak"} | last)
        self.assert_done(run, 1)
        self.assert_transport(run, naks=1, naks_tx=0, retransmitted=1, icrc_errors=0)
        run = self.twin({"action": "forge_cnp", "direction": "receive", "every": 8}, out="cnp")
        self.assert_done(run, 4)
        self.assert_transport(run, cnp_rx=4, cnp_tx=0, retransmitted=0)
        suppressed = {"action": "drop", "class": "ack", "rank": 0}
        run = self.twin({"action": "forge_ack"} | last, suppressed, out="ack")
        self.assert_done(run, 1, 1)
        self.assert_transport(run, timeouts=0, retransmitted=0)

    def test_suppressed_acknowledgement(self):
        run = self.twin({"action": "drop", "class": "ack", "rank": 0, "count": 1})
        self.assert_done(run, 1)
        # Three packets leave until the answer to the first is there, as above: everything has arrived.
        self.assert_transport(run, timeouts=1, naks=0, retransmitted=3)
        self.assertGreaterEqual(run.transport["duplicate_packets"], 1)

    def test_marks(self):
        run = self.twin({"action": "mark_ce", "class": "data", "rank": 1})
        self.assert_done(run, PACKETS)
        self.assert_transport(run, ecn_ce_rx=PACKETS, icrc_errors=0, malformed=0, retransmitted=0)

    def test_pauses_reach_the_sender_where_the_switch_has_flow_control(self):
        # p1 pauses the switch, whose queue grows until it pauses p0.
        rule = {"action": "pause", "priorities": [3], "port": "p1", "from": "5us", "quanta": 2000}
        config = self.config(rule)
        config["fabric"] = {"topology": "star", "lossless": [3], "buffer": {"xoff": "8KiB", "headroom": "1MiB"}}
        run = self.call("simulate", config, "--twin", out="lossless")
        self.assertEqual(run.summary["warnings"], [])
        self.assert_transport(run, retransmitted=0, timeouts=0, pause_tx=1)
        ports = {row["name"]: row for row in run.rows("ports", fidelity="twin")}
        self.assertEqual([ports[name]["pause_tx"] for name in ("p0", "p1")], ["0", "1"])
        self.assertEqual(ports["switch.p1"]["pause_rx"], "1")
        self.assertEqual(ports["switch.p1"]["paused_3_ps"], str(2000 * 51_200))  # 512 bits at 10 Gbps
        self.assertEqual(ports["switch.p0"]["pause_tx"], ports["p0"]["pause_rx"])
        self.assertEqual(run.transport["pause_rx"], int(ports["p0"]["pause_rx"]))
        self.assertGreater(int(ports["p0"]["pause_rx"]), 0)
        self.assertGreater(int(ports["p0"]["paused_3_ps"]), 0)

    def test_pauses_without_flow_control_are_counted_and_warned_of(self):
        plain = self.twin(out="plain")
        run = self.twin({"action": "pause", "priorities": [3], "port": "p1", "from": "5us"})
        self.assert_done(run, 1)
        (warning,) = run.summary["warnings"]
        self.assertIn("impairments[0] pauses priorities that the embedded switch does not obey pauses of (3)", warning)
        ports = {row["name"]: row for row in run.rows("ports", fidelity="twin")}
        self.assertEqual([ports["p1"]["pause_tx"], ports["switch.p1"]["pause_rx"]], ["1", "1"])
        times = [each.summary["emulated"]["completion_time_ps"] for each in (plain, run)]
        self.assertLess(abs(times[1] - times[0]), 100_000)  # the frame itself: 67 ns

    def test_equal_seeds_give_equal_records(self):
        config = SOURCE / "configs/impairments.yaml"
        runs = [self.call("simulate", config, "--twin", out=out) for out in ("first", "second")]
        self.assertEqual([rule["done"] for rule in runs[0].summary["impairments"]["rules"]][:3], [1, 1, 5])
        for table in ("impairments.csv", "operations.csv", "flows.csv", "ports.csv"):
            self.assertEqual((runs[0].folder / table).read_bytes(), (runs[1].folder / table).read_bytes(), table)
        self.assertEqual(runs[0].transport, runs[1].transport)
        other = self.call("simulate", config, "--twin", "--set", "seed=8", out="other")
        self.assertNotEqual(other.rows("impairments"), runs[0].rows("impairments"))

    def test_what_only_the_workload_shows_to_be_wrong(self):
        for rule, error in (
            ({"rank": 2}, "impairments[0].rank: there is no rank 2; the workload has ranks 0 .. 1"),
            ({"peer": 9}, "impairments[0].peer: there is no rank 9"),
            ({"operation": "exchnge"}, "impairments[0].operation: no communication is named 'exchnge'"),
            ({"group": "tp"}, "impairments[0].group: there is no process group 'tp'"),
            ({"job": 3}, "impairments[0].job: no job 3 communicates"),
            ({"step": 7}, "impairments[0]: no message that crosses the wire meets these conditions"),
        ):
            with self.subTest(**rule):
                path = self.configuration(self.config({"action": "drop"} | rule))
                self.assert_one_line_error(rankwire("check", path), USAGE, f"{path}:", error)


if __name__ == "__main__":
    unittest.main()

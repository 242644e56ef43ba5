"""Congestion control from the configuration to the record, in virtual time: configs/congestion.yaml."""

import collections
import json
import unittest

import chakra
from rankwire import SOURCE, USAGE, RankwireTest, rankwire

CONFIG = SOURCE / "configs/congestion.yaml"
CONTROL = "transport.congestion_control"


class Incast(RankwireTest):
    DATA = 3  # DSCP 26

    def gather(self, senders, size):
        """Ranks that send one gather to the first, behind the switch and with the transport that docs/congestion-control.md
        recommends."""
        text = (SOURCE / "docs/congestion-control.md").read_text(encoding="utf-8")
        recommended = text.split("```yaml\n")[1].split("```")[0]
        traces = self.folder / f"gather{senders}"
        chakra.write_ranks(traces, [[chakra.collective(chakra.GATHER, size)]] * (senders + 1))
        path = self.folder / f"{senders}.yaml"
        path.write_text(
            f"{recommended}"
            f"workload: {{traces: {json.dumps(str(traces))}}}\n"
            f"hosts: {{count: {senders + 1}, npus: 1}}\n"
            f"ports: {{count: {senders + 1}, rate: 100Gbps}}\n"
            "record: {fabric_interval: 5us, fabric_rows: 1000000}\n",
            encoding="utf-8",
        )
        run = self.call("simulate", path, "--twin", out=f"run{senders}")
        self.assert_delivered(run)
        return run

    def mean_queue(self, run):
        """Bytes in front of the receiver, in the mean of 40 to 90 % of the time: each sample holds until the next."""
        rows = run.rows("queues", name="switch.p0", priority=str(self.DATA))
        end = int(rows[-1]["time_ps"])
        begin, end = end * 4 // 10, end * 9 // 10
        area = length = 0
        since = begin
        for row in rows:
            at = min(max(int(row["time_ps"]), begin), end)
            area += length * (at - since)
            since, length = at, int(row["queue_bytes"])
        return area / (end - begin)

    def test_published_parameters_hold_the_queue(self):
        """HPCC's: between Kmin, 400 KB, and Kmax, 1600 KB, shared alike, and without any pause."""
        for senders, size in ((2, 300 << 20), (16, 40 << 20), (64, 20 << 20)):
            with self.subTest(senders=senders):
                run = self.gather(senders, size)
                rates = [int(row["bytes"]) / int(row["max_ps"]) for row in run.rows("flows", fidelity="twin", path="wire")]
                self.assertEqual(len(rates), senders)
                jain = sum(rates) ** 2 / (senders * sum(rate**2 for rate in rates))
                queue = self.mean_queue(run)
                print(f"{senders} senders: queue {queue / 1000:.0f} KB, Jain {jain:.4f}")
                self.assertGreaterEqual(queue, 400_000)
                self.assertLessEqual(queue, 1_600_000)
                self.assertGreaterEqual(jain, 0.95)
                self.assertEqual(sum(int(row["xoff_tx"]) for row in run.rows("queues")), 0)


class Congestion(RankwireTest):
    def simulate(self, *settings, out):
        arguments = [argument for setting in settings for argument in ("--set", setting)]
        run = self.call("simulate", CONFIG, "--twin", *arguments, out=out)
        self.assert_delivered(run)
        return run

    def dropped(self, run):
        return sum(int(row["dropped"] or 0) for row in run.rows("ports"))

    def test_notifications_slow_the_ring_down_to_its_slow_port(self):
        """Whether sources write what they have, or destinations read it."""
        for verb in ("write_imm", "read"):
            with self.subTest(verb=verb):
                self.slow_down(verb)

    def slow_down(self, verb):
        free = self.simulate(f"{CONTROL}.algorithm=none", f"transport.verb={verb}", out=f"free.{verb}")
        self.assertEqual(free.transport["cnp_tx"], 0)
        run = self.simulate(f"transport.verb={verb}", "record.rate_interval=50us", out=f"dcqcn.{verb}")
        # The comment in the file derives the bytes: 4 x 37,748,736 and 6,144,000.
        self.assertEqual(run.summary["bytes_wire"], 157_138_944)
        self.assertGreater(run.transport["cnp_tx"], 0)
        self.assertEqual(run.transport["cnp_rx"], run.transport["cnp_tx"])
        self.assertEqual(run.transport["retransmitted"], 0)
        self.assertEqual(self.dropped(run), 0)
        # What the queue pairs no longer send is not marked either.
        self.assertLess(run.transport["ecn_ce_rx"], free.transport["ecn_ce_rx"] / 2)
        # The slow port is the bottleneck before and after.
        times = [each.summary["emulated"]["completion_time_ps"] for each in (free, run)]
        print(f"{verb}: marks {free.transport['ecn_ce_rx']} -> {run.transport['ecn_ce_rx']}, time x {times[1] / times[0]:.3f}")
        self.assertLess(times[1], 1.3 * times[0])
        self.assert_rates_over_time(run)

    def assert_rates_over_time(self, run):
        """What passes in intervals amounts to what passed in all, and rank 2, which sends to the slow port, is held back."""
        rates = run.rows("port_rates")
        for direction in ("tx", "rx"):
            self.assertEqual(sum(int(row[f"{direction}_bytes"]) for row in rates), run.transport[f"bytes_{direction}"])
        interval = run.summary["rates"]["port_interval_ps"]
        end = run.summary["emulated"]["completion_time_ps"]
        self.assertTrue(all(int(row["time_ps"]) % interval == 0 for row in rates))
        # No port takes more than its line: frames have 24 bytes beside these, and 64 may be early.
        for name, gbps in (("p0", 25), ("p3", 10)):
            most = max(int(row["rx_bytes"]) for row in rates if row["name"] == name)
            self.assertLess(most, interval * gbps / 8000 + 64 * 4200, name)
        lowest = collections.defaultdict(lambda: 25_000_000_000)
        for row in run.rows("allowances"):
            self.assertLess(int(row["time_ps"]), end + 2 * interval)
            self.assertLessEqual(int(row["lowest_rate_bps"]), int(row["rate_bps"]))
            self.assertEqual(row["window_bytes"], "")
            way = (row["source"], row["destination"])
            lowest[way] = min(lowest[way], int(row["lowest_rate_bps"]))
        self.assertLess(lowest["2", "3"], 12_000_000_000)
        self.assertGreater(lowest["0", "1"], lowest["2", "3"])
        page = (run.folder / "report.html").read_text(encoding="utf-8")
        self.assertIn("<h2>Rates and windows over time</h2>", page)
        timeline = json.loads((run.folder / "timeline.json").read_text(encoding="utf-8"))
        counters = {event["name"] for event in timeline["traceEvents"] if event["ph"] == "C"}
        self.assertIn("p3 received", counters)
        self.assertTrue([name for name in counters if name.startswith("rank 2 to rank 3") and name.endswith(" rate")])

    def test_equal_seeds_give_equal_notifications(self):
        first, second = (self.simulate(out=out) for out in ("first", "second"))
        self.assertEqual(first.transport, second.transport)

    def test_static_rate_bounds_the_run(self):
        # Each rank sends a quarter of the bytes on one queue pair at 1 Gbps, 4178 bytes on the line for 4096.
        run = self.simulate(f"{CONTROL}.algorithm=static", f"{CONTROL}.rate=1Gbps", out="static")
        least = 157_138_944 / 4 * 4178 / 4096 * 8 * 1000
        self.assertGreater(run.summary["emulated"]["completion_time_ps"], least)
        self.assertLess(run.summary["emulated"]["completion_time_ps"], 1.05 * least)

    def test_every_algorithm_delivers(self):
        for algorithm in ("dctcp", "swift"):
            with self.subTest(algorithm=algorithm):
                run = self.simulate(f"{CONTROL}.algorithm={algorithm}", "record.rate_interval=50us", out=algorithm)
                self.assertEqual(run.transport["retransmitted"], 0)
                self.assertEqual(run.transport["cnp_rx"] > 0, algorithm == "dctcp")
                # From the whole of transport.window, 1024 packets of 4096 bytes, down to what the slow port takes.
                windows = [int(row["smallest_window_bytes"]) for row in run.rows("allowances", source="2")]
                self.assertLess(min(windows), 1024 * 4096 / 10)

    def test_windows_bound_the_queue(self):
        """Of the round trip, 13 us: rank 2, the one that sends to the slow port, has 40,625 B on its way at 25 Gb/s."""
        longest = {}
        for preset in ("hpcc", "hpcc_vwin", "hpcc_paper", "hpcc_paper_vwin"):
            run = self.simulate(f"{CONTROL}.preset={preset}", "record.fabric_interval=20us", out=preset)
            longest[preset] = max(int(row["queue_bytes"]) for row in run.rows("queues", name="switch.p3"))
        print(longest)
        for preset in ("hpcc", "hpcc_paper"):
            # Nobody hears of a mark before 100 KB stand there.
            self.assertGreater(longest[preset], 100_000)
            self.assertLessEqual(longest[f"{preset}_vwin"], 40_625)
        process = rankwire("check", CONFIG, "--set", f"{CONTROL}.preset=hpcc_vwin", "--set", "transport.verb=read")
        self.assert_one_line_error(process, USAGE, f"{CONTROL}.dcqcn_window: follows acknowledgements")

    def test_scope_of_the_interval_between_notifications(self):
        """Two queue pairs to each of four ranks, all marked: CNPs are 50 us apart for each of them, or for each rank."""
        sent = {}
        for scope, groups in (("queue_pair", 8), ("address_pair", 4), ("port", 4)):
            settings = (f"{CONTROL}.np_scope={scope}", f"{CONTROL}.np_min_time_between_cnps=50us", "transport.queue_pairs=2")
            run = self.simulate(*settings, out=scope)
            sent[scope] = run.transport["cnp_tx"]
            periods = run.summary["emulated"]["completion_time_ps"] // 50_000_000 + 1
            self.assertLessEqual(sent[scope], groups * periods)
        print(sent)
        self.assertEqual(sent["address_pair"], sent["port"])
        self.assertGreater(sent["queue_pair"], 1.5 * sent["port"])

    def test_queue_pairs_add_up_to_ranks_and_ports(self):
        """Time by cause, and mlx5's counters, in three tables: one rank behind each port, and some packets are lost."""
        run = self.simulate("record.causes=on", "switch.loss=1%", out="causes")
        causes = ["transmitting", "window", "congestion_control", "paused", "rnr", "recovering", "port"]
        causes = [f"{cause}_ps" for cause in [*causes, "acknowledgement"]]
        marks = ["np_ecn_marked_roce_packets", "np_cnp_sent"]
        reactions = ["rp_cnp_handled", "rp_cnp_ignored"]
        # None at the other end: nothing is sent against the data but acknowledgements.
        responder = {
            "out_of_sequence": "out_of_sequence",
            "duplicate_request": "duplicate_packets",
            "out_of_buffer": "rnr_naks_tx",
        }
        requester = {
            "packet_seq_err": "naks",
            "implied_nak_seq_err": "implied_naks",
            "local_ack_timeout_err": "timeouts",
            "rnr_nak_retry_err": "rnr_naks",
        }
        flows = run.rows("flows", fidelity="twin", path="wire")
        ports = run.rows("ports", fidelity="twin")
        for rank in run.rows("ranks", fidelity="twin"):
            own = [row for row in ports if row["name"] == f"p{rank['rank']}"]
            self.assertEqual(len(own), 1)
            for end, columns in (("source", causes + reactions + [*requester]), ("destination", marks + [*responder])):
                for column in columns:
                    total = sum(int(row[column]) for row in flows if row[end] == rank["rank"])
                    self.assertEqual(int(rank[column]), total, column)
                    self.assertEqual(int(own[0][column]), total, column)
        for column in marks + reactions:
            total = sum(int(row[column]) for row in flows)
            self.assertEqual(total, run.summary["transport_details"][column])
        for column, counter in (requester | responder).items():
            self.assertEqual(sum(int(row[column]) for row in flows), run.transport[counter], column)
        for column in ("packet_seq_err", "out_of_sequence"):
            self.assertGreater(sum(int(row[column]) for row in flows), 0, column)
        self.assertGreater(sum(int(row["congestion_control_ps"]) for row in flows), 0)
        switch = [row for row in ports if row["name"].startswith("switch.")]
        self.assertTrue(all(row["transmitting_ps"] == "" for row in switch))

    def test_exceptions_are_one_line(self):
        """One job is all there is: its exception is the rule, and the same bytes take as long."""
        rule = self.simulate(f"{CONTROL}.algorithm=static", f"{CONTROL}.rate=1Gbps", out="rule")
        text = CONFIG.read_text(encoding="utf-8")
        for name, selection in (("job", "job: 0"), ("group", "group: {group}")):
            group = rule.rows("operations", kind="all_gather")[0]["group"]
            item = f"    exceptions: [{{{selection.format(group=group)}, algorithm: static, rate: 1Gbps}}]\n"
            path = self.folder / f"{name}.yaml"
            path.write_text(text + item, encoding="utf-8")
            run = self.call("simulate", path, "--twin", out=name)
            self.assert_delivered(run)
            self.assertEqual(run.transport["packets_tx"], rule.transport["packets_tx"])
            times = [each.summary["emulated"]["completion_time_ps"] for each in (rule, run)]
            self.assertEqual(times[0], times[1])
            exceptions = run.summary["config"]["transport"]["congestion_control"]["exceptions"]
            self.assertEqual(exceptions[0]["algorithm"], "static")

    def test_exceptions_for_nobody(self):
        text = CONFIG.read_text(encoding="utf-8")
        for selection, reason in (("job: 3", "no job 3 communicates"), ("group: nobody", "process group 'nobody'")):
            path = self.folder / "wrong.yaml"
            path.write_text(f"{text}    exceptions:\n      - {{{selection}, algorithm: swift}}\n", encoding="utf-8")
            line = text.count("\n") + 2
            self.assert_one_line_error(rankwire("check", path), USAGE, f"wrong.yaml:{line}", "exceptions[0]", reason)

    def test_compare_names_the_algorithms_and_what_came_of_them(self):
        base = self.simulate(f"{CONTROL}.algorithm=none", out="none")
        other = self.simulate(f"{CONTROL}.algorithm=static", f"{CONTROL}.rate=1Gbps", out="static")
        process = rankwire("compare", base.folder, other.folder, "--json")
        self.assertEqual(process.returncode, 0)
        comparison = json.loads(process.stdout)
        settings = {row["key"]: (row["base"], row["other"]) for row in comparison["settings"]}
        self.assertEqual(settings[f"{CONTROL}.algorithm"], ("none", "static"))
        times = [run.summary["emulated"]["completion_time_ps"] for run in (base, other)]
        self.assertEqual([comparison["completion_time_ps"][which] for which in ("base", "other")], times)
        self.assertAlmostEqual(comparison["ratio"], times[1] / times[0])
        marks = [run.transport["ecn_ce_rx"] for run in (base, other)]
        self.assertEqual(comparison["transport"]["ecn_ce_rx"], {"base": marks[0], "other": marks[1]})
        table = rankwire("compare", base.folder, other.folder).stdout
        self.assertIn(f'{CONTROL}.algorithm: "none" -> "static"', table)
        # 1 Gb/s is slower than the slow port.
        self.assertEqual(rankwire("compare", base.folder, other.folder, "--most", "1.01").returncode, 1)
        self.assertEqual(rankwire("compare", other.folder, base.folder, "--most", "1.01").returncode, 0)

    def test_profile_without_ecn_is_a_contradiction(self):
        process = rankwire("check", CONFIG, "--set", "transport.profile=rxe")
        self.assert_one_line_error(process, USAGE, f"{CONTROL}.algorithm", "'transport.ecn: on'")


if __name__ == "__main__":
    unittest.main()

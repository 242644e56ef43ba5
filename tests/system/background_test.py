"""Traffic without a trace beside jobs, from a configuration to tables and pages."""

import json
import unittest

from rankwire import OK, SOURCE, USAGE, RankwireTest, rankwire

# Overhead of a packet of 4096 bytes on the line: preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12.
PACKET = 4096 + 82
RATE = 10_000_000_000


def job(name="training", **changes):
    """Two ranks on the first two hosts that compute next to nothing and add 4 MiB of gradients up."""
    return {
        "name": name,
        "hosts": [0, 1],
        "workload": {"generate": {"layers": 1, "hidden": 512, "sequence": 16, "vocabulary": 100, "micro_batches": 1,
                                  "tensor_parallel": 1, "data_parallel": 2, "peak": "1Eflops"}},
    } | changes


def beside(*background, jobs=None, ports=3, **changes):
    return {
        "jobs": [job()] if jobs is None else jobs,
        "background": list(background),
        "hosts": {"count": ports, "nics": 1},
        "ports": {"count": ports, "device": "memory", "rate": "10Gbps"},
    } | changes


class Background(RankwireTest):
    def test_a_closed_loop_takes_half_of_a_bottleneck(self):
        config = beside({"name": "rival", "pattern": "pairs", "from": "p0", "to": "p1", "size": "64KiB",
                         "outstanding": 8})
        run = self.call("simulate", config, "--twin")
        self.assert_delivered(run)
        training, = run.summary["jobs"]
        alone = training["alone"]["completion_time_ps"]
        # Both directions of the job carry the same at the same times. The one that is shared takes twice as long, which
        # adds the time of its bytes on the line.
        line = run.summary["bytes_wire"] / 2 * PACKET / 4096 * 8 / RATE * 1e12
        reference = training["reference"]["completion_time_ps"]
        self.assertAlmostEqual((reference - alone) / line, 1, delta=0.01)
        self.assertAlmostEqual(training["emulated"]["completion_time_ps"] / reference, 1, delta=0.03)

        rival, = run.summary["background"]
        self.assertEqual((rival["name"], rival["flows"], rival["rate_bps"], rival["limit"]), ("rival", 1, None, 8))
        for side in ("emulated", "reference"):
            traffic = rival[side]
            self.assertGreaterEqual(traffic["messages_posted"], traffic["messages_delivered"])
            self.assertEqual(traffic["bytes_delivered"], traffic["messages_delivered"] * 65536)
            # All that the job did not take of the line until it ended; 8 messages may have been under way.
            completion = training[side]["completion_time_ps"]
            taken = (traffic["bytes_delivered"] + run.summary["bytes_wire"] / 2) * PACKET / 4096 * 8
            self.assertLessEqual(taken, completion * RATE / 1e12)
            self.assertGreater(taken + 9 * 65536 * 8, 0.97 * completion * RATE / 1e12)
        # It is in no figure of the job.
        rows = run.rows("flows", fidelity="reference")
        self.assertEqual(sum(int(row["bytes"]) for row in rows if row["job"] == "0"), run.summary["bytes"])
        self.assertEqual({row["job"] for row in rows}, {"0", "1"})
        self.assertEqual({row["job"] for row in run.rows("ranks")}, {"0", ""})
        self.assertEqual({row["job"] for row in run.rows("operations")}, {"0"})

    def test_an_open_loop_offers_what_its_rate_says(self):
        # A message of 12500 bytes takes 100 us at 1 Gbit/s.
        config = beside({"name": "bursts", "pattern": "incast", "from": ["p0", "p2"], "to": "p1", "size": "12500B",
                         "rate": "1Gbps", "start": "100us", "stop": "1100us", "burst": {"on": "100us", "off": "300us"}},
                        jobs=[job(start="2ms")])
        run = self.call("simulate", config, "--twin")
        bursts, = run.summary["background"]
        for side in ("emulated", "reference"):
            # Bursts begin at 100, 500 and 900 us; a flow sends in each at its begin alone, for a message takes 100 us.
            self.assertEqual(bursts[side]["messages_offered"], 2 * 3)
            self.assertEqual(bursts[side]["messages_delivered"], 2 * 3)
            self.assertEqual(bursts[side]["messages_under_way"], 0)
            # 75,000 bytes in the 1 ms from start to stop.
            self.assertEqual(bursts[side]["delivered_bps"], 600_000_000)
            self.assertLess(bursts[side]["last_delivery_ps"], 1_000_000_000)
        # The job begins when it is over.
        self.assertAlmostEqual(run.summary["jobs"][0]["reference"]["interference"], 1, delta=1e-6)

    def test_a_job_before_which_nothing_goes_is_not_held_up(self):
        def jct(*background):
            # The job's data and all acknowledgements have priority 5.
            config = beside(*background, transport={"dscp": 40}, fabric={"topology": "star", "strict": [5]})
            run = self.call("simulate", config, "--twin")
            return run, run.summary["jobs"][0]["emulated"]["completion_time_ps"]

        run, alone = jct()
        noise = {"name": "noise", "pattern": "pairs", "from": "p2", "to": "p1", "size": "4KiB", "outstanding": 64,
                 "transport": {"dscp": 8}}
        with_noise, behind = jct(noise)
        messages = run.summary["messages"]
        # A message, and what acknowledges it, waits for a packet that is being sent at the one switch.
        packet = PACKET * 8 / RATE * 1e12
        self.assertLessEqual(behind, alone + 2 * messages * packet)
        self.assertGreater(with_noise.summary["background"][0]["emulated"]["messages_delivered"], 0)
        # At the job's own priority it does hold it up, by more than that.
        _, same = jct(noise | {"transport": {"dscp": 40}})
        self.assertGreater(same, alone + 2 * messages * packet)

    def test_the_same_seed_gives_the_same_traffic(self):
        config = beside({"name": "search", "pattern": "permutation", "size": "storage", "rate": "2Gbps",
                         "arrivals": "poisson"},
                        {"name": "pairs", "pattern": "random_pairs", "pairs": 5, "size": "16KiB", "outstanding": 2})
        runs = [self.call("simulate", config, "--twin", out=f"run{i}").summary["background"] for i in range(2)]
        self.assertEqual(runs[0], runs[1])
        other = self.call("simulate", config, "--twin", "--set", "seed=2", out="other").summary["background"]
        self.assertNotEqual(runs[0], other)

    def test_the_example_in_an_emulated_run(self):
        run = self.call("run", SOURCE / "configs/background.yaml", "--set", "ports.device=memory",
                        "--set", "transport.checking=on")
        self.assert_delivered(run)
        noise, storage = run.summary["background"]
        self.assertEqual((noise["flows"], storage["flows"]), (3, 8))
        for entry in (noise, storage):
            traffic = entry["emulated"]
            self.assertGreater(traffic["messages_delivered"], 0)
            self.assertEqual((traffic["messages_failed"], traffic["payload_errors"]), (0, 0))
            self.assertGreater(traffic["completion_time"]["count"], 0)
        self.assertGreater(run.summary["jobs"][0]["reference"]["interference"], 1)
        rows = run.rows("background")
        self.assertEqual([(row["fidelity"], row["name"]) for row in rows],
                         [(side, name) for side in ("emulated", "reference") for name in ("noise", "storage")])
        self.assertEqual(int(rows[0]["bytes_delivered"]), noise["emulated"]["bytes_delivered"])
        self.assertIn("<h2>Background</h2>", (run.folder / "report.html").read_text(encoding="utf-8"))
        self.assertRegex(rankwire("report", run.folder).stdout, r"\n  storage +emulated +8 ")

    def test_several_workers(self):
        config = beside({"name": "pairs", "pattern": "all_to_all", "size": "16KiB", "outstanding": 2},
                        workers={"count": 2})
        run = self.call("run", config)
        self.assert_delivered(run)
        traffic = run.summary["background"][0]["emulated"]
        self.assertEqual(run.summary["background"][0]["flows"], 6)
        self.assertGreater(traffic["messages_delivered"], 0)
        self.assertEqual(traffic["messages_failed"], 0)

    def test_what_check_says(self):
        config = beside({"name": "flood", "pattern": "incast", "to": 1, "size": "4096B", "rate": "6Gbps"})
        process = rankwire("check", self.configuration(config), "--json", "--no-measure")
        self.assertEqual(process.returncode, OK, process.stderr)
        background = json.loads(process.stdout)["background"]
        self.assertEqual(background["entries"][0]["flows"],
                         [{"from": "p0", "to": "host 1"}, {"from": "p2", "to": "host 1"}])
        # 6 Gbit/s of payload in packets of 4096 bytes, each of which is a message: RETH 16, immediate 4.
        line = 6_000_000_000 * (PACKET + 20) // 4096
        self.assertEqual([(port["port"], port["offered_tx_bps"], port["offered_rx_bps"])
                          for port in background["ports"]],
                         [("p0", line, 0), ("p1", 0, 2 * line), ("p2", line, 0)])
        self.assertRegex(process.stderr, r"background: port p1 is to receive 12\.\d+ Gbit/s at its rate of 10")
        process = rankwire("check", self.configuration(config), "--no-measure")
        self.assertRegex(process.stdout, r"\nflood +incast +2 +4096 +6.* Gbit/s  p0 > host 1, p2 > host 1\n")

    def test_ends_that_never_meet(self):
        # Six hosts behind three ports.
        config = beside({"name": "near", "pattern": "pairs", "from": 0, "to": 3, "size": "1KiB", "outstanding": 1},
                        hosts={"count": 6, "nics": 1})
        process = rankwire("check", self.configuration(config))
        self.assertEqual(process.returncode, USAGE)
        self.assertRegex(process.stderr, r"test\.yaml:\d+: background\[0\]: host 0 and host 3 stand behind one port")


if __name__ == "__main__":
    unittest.main()

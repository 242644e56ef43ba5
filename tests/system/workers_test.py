"""Runs spread over several workers: the same messages, one record, one verdict."""

import json
import os
import signal
import unittest

from rankwire import FAILED, OK, USAGE, RankwireTest, rankwire, recorded_operations, start, transformer, wait_for_operations


class Workers(RankwireTest):
    def config(self, workers, device="ring", **changes):
        return {
            "workload": {"generate": transformer(micro_batches=2), "iterations": 2, "scale": {"bytes": "1/2"}},
            "hosts": {"count": 2, "npus": 4, "nics": 2},
            "ports": {"count": 4, "device": device, "rate": "1Gbps"},
            "transport": {"checking": True, "mtu": "1024B"},
            "workers": {"count": workers},
            "record": {"messages": "all"},
        } | changes

    def assert_like_one(self, run, one):
        """Both carried the same messages between the same ranks, and executed the same operations."""
        self.assert_delivered(run)
        for key in ("messages", "bytes", "bytes_wire", "bytes_local"):
            self.assertEqual(run.summary[key], one.summary[key], key)
        executed = [sorted((row["rank"], row["node"], row["iteration"]) for row in each.rows("operations"))
                    for each in (run, one)]
        self.assertEqual(executed[0], executed[1])
        carried = [sorted((row["connection"], row["member"], row["messages"], row["bytes"], row["source_qp"],
                           row["destination_qp"]) for row in each.rows("flows")) for each in (run, one)]
        self.assertEqual(carried[0], carried[1])

    def test_any_number_carries_the_same_messages(self):
        one = self.call("run", self.config(1), out="one")
        for device, workers, core in (("ring", 4, "shared"), ("memory", 3, "shared"), ("ring", 2, "sharded"),
                                      ("memory", 4, "sharded")):
            with self.subTest(device=device, workers=workers, core=core):
                run = self.call("run", self.config(workers, device, switch={"core": core}), out=f"{device}{workers}")
                self.assert_like_one(run, one)
                self.assertEqual(len(run.summary["generator"]["core_busy"]), workers)
                # What the switch got from a port is what the port sent, and the reverse.
                ports = {row["name"]: row for row in run.rows("ports")}
                for p in range(4):
                    for ways in (("tx_frames", "rx_frames"), ("rx_bytes", "tx_bytes")):
                        self.assertEqual(ports[f"p{p}"][ways[0]], ports[f"switch.p{p}"][ways[1]], ways)

    def test_clear_to_send_and_several_queue_pairs(self):
        # Three threads: on two cores each may wait for milliseconds.
        nccl = {"collectives": {"profile": "nccl"}, "switch": {"core": "own"}}
        nccl["transport"] = {"checking": True, "mtu": "1024B", "queue_pairs": 2, "timeout": 17}
        one = self.call("run", self.config(1, **nccl), out="one")
        self.assert_like_one(self.call("run", self.config(2, **nccl), out="two"), one)

    def test_losses_are_repeated(self):
        run = self.call("run", self.config(2, switch={"loss": "0.5%"}), out="lossy")
        self.assert_delivered(run)
        self.assertGreater(run.transport["retransmitted"], 0)

    def test_who_waits_for_whom_is_one_list(self):
        # All is lost, so that every worker's ranks wait until retries are exhausted, or the run is taken for stalled.
        config = self.config(2, switch={"loss": "100%"}, run={"stall_timeout": "300ms"})
        config["transport"] |= {"timeout": 20}
        run = self.call("run", config, status=FAILED, out="silent")
        self.assertEqual(run.summary["verdict"], "stalled")
        ranks = {int(line.split()[1]) for line in run.summary["reason"].splitlines() if line.startswith("rank ")}
        self.assertTrue(ranks & {0, 1, 4, 5}, run.summary["reason"])
        self.assertTrue(ranks & {2, 3, 6, 7}, run.summary["reason"])

    def test_a_failed_message_ends_the_run_for_all(self):
        config = self.config(2, switch={"loss": "100%"})
        config["transport"] |= {"timeout": 8, "retry_count": 1}
        run = self.call("run", config, status=FAILED, out="failed")
        self.assertEqual(run.summary["verdict"], "failed")
        self.assertIn("retry count exceeded", run.summary["reason"])

    def test_carries_on_without_a_pair(self):
        config = self.config(2, switch={"loss": "100%"}, run={"on_failure": "continue"})
        config["transport"] |= {"timeout": 4, "retry_count": 1}
        config["workload"]["iterations"] = 1
        run = self.call("run", config, status=FAILED, out="without")
        self.assertGreater(run.transport["messages_failed"], 0)
        self.assertIn("messages failed", run.summary["reason"])
        self.assertEqual(run.transport["messages_failed"] + run.transport["messages_delivered"],
                         run.summary["messages"])

    def endless(self, name):
        """A run that goes on until somebody stops it, and its folder; it has begun."""
        config = self.config(2, record={"messages": "sampled"})
        config["workload"]["iterations"] = 16384
        path, folder = self.configuration(config), self.folder / name
        process = start("run", path, "--out", folder)
        self.assertGreater(wait_for_operations(process, folder), 0, "nothing has been recorded")
        return process, folder

    def test_an_interrupted_run_keeps_what_it_measured(self):
        process, folder = self.endless("interrupted")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, FAILED)
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        self.assertEqual(summary["verdict"], "interrupted")
        self.assertGreater(summary["transport"]["messages_delivered"], 0)

    def test_a_killed_run_keeps_what_it_measured(self):
        process, folder = self.endless("killed")
        process.kill()
        process.communicate(timeout=60)
        report = rankwire("report", folder)
        self.assertIn("interrupted", report.stdout + report.stderr)
        self.assertGreater(recorded_operations(folder), 0)

    def test_cores_that_there_are_not(self):
        config = self.config(2)
        config["workers"] = {"cores": [max(os.sched_getaffinity(0)), 1023]}
        for verb in ("check", "run"):
            refused = rankwire(verb, self.configuration(config))
            self.assertEqual(refused.returncode, USAGE, refused.stderr)
            self.assertIn("workers.cores: 1023 is not a CPU that this process may use", refused.stderr)

    def test_check_says_who_has_what(self):
        check = rankwire("check", self.configuration(self.config(2)), "--json")
        self.assertEqual(check.returncode, OK, check.stderr)
        workers = json.loads(check.stdout)["workers"]
        self.assertEqual([worker["ports"] for worker in workers], [["p0", "p1"], ["p2", "p3"]])
        self.assertEqual([worker["ranks"] for worker in workers], [4, 4])
        # The hosts' ports are one worker's each, and so is all that their ranks send.
        self.assertEqual([worker["handed_over_per_iteration"] for worker in workers], [0, 0])
        table = rankwire("check", self.configuration(self.config(4)))
        self.assertRegex(table.stdout, r"worker +cpu +ranks +QPs +handed over +ports\n0 +any +2 ")

    def test_cores_that_there_are(self):
        cores = sorted(os.sched_getaffinity(0))[:2]
        run = self.call("run", self.config(len(cores)) | {"workers": {"cores": cores}}, out="pinned")
        self.assert_delivered(run)


if __name__ == "__main__":
    unittest.main()

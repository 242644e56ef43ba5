"""The same workload over each kind of embedded port, with the switch in the loop and on its own core, without root."""

import os
import unittest

from huge_pages import take_huge_pages
from rankwire import FAILED, OK, USAGE, RankwireTest, rankwire, start, transformer

SMALL = transformer(layers=2, micro_batches=2)  # 8 ranks


class Modes(RankwireTest):
    def config(self, device, **switch):
        return {
            "workload": {"generate": SMALL},
            "hosts": {"count": 4, "npus": 2},
            "ports": {"count": 4, "device": device, "rate": "1Gbps"},
            "switch": switch,
            "transport": {"checking": True, "timeout": 13},
            "run": {"deadline": "120s"},
        }

    def test_every_device_and_core_carries_the_same(self):
        carried = []
        for device in ("ring", "memory"):
            for core in ("shared", "own"):
                with self.subTest(device=device, core=core):
                    run = self.call("run", self.config(device, core=core), out=f"{device}.{core}")
                    self.assert_delivered(run)
                    carried.append((run.summary["messages"], run.summary["bytes_wire"], run.summary["bytes_local"]))
        self.assertEqual(len(set(carried)), 1, carried)

    def test_loss_is_repaired_with_the_switch_on_its_own_core(self):
        run = self.call("run", self.config("ring", core="own", loss="1%"))
        self.assert_delivered(run)
        self.assertGreater(run.transport["retransmitted"], 0)

    def test_channels_and_small_chunks(self):
        config = self.config("ring") | {"collectives": {"channels": 2, "chunk": "64KiB"}}
        plain = self.call("simulate", self.config("ring"), out="plain")  # of the same plan
        cut = self.call("run", config, out="cut")
        self.assert_delivered(cut)
        self.assertEqual(cut.summary["bytes"], plain.summary["bytes"])
        self.assertGreater(cut.summary["messages"], plain.summary["messages"])

    def test_patterns_of_lengths_that_are_padded(self):
        # Elements of 2 bytes: messages of 1002 bytes, padded to 1004 on the wire.
        config = self.config("ring") | {"collectives": {"chunk": "1002B"}}
        config["transport"]["checking"] = False
        run = self.call("run", config, out="padded")
        self.assert_delivered(run)

    def test_ports_faster_than_any_core_limit_the_generator(self):
        # Four ports at 400 Gb/s ask for 48 M packets a second, each with an ICRC over 4 KiB, of one core.
        config = self.config("ring") | {"ports": {"count": 4, "device": "ring", "rate": "400Gbps"}}
        config["workload"] = {"generate": transformer(hidden=1024)}
        run = self.call("run", config, out="limited")
        self.assert_delivered(run)
        self.assertEqual(run.summary["fidelity"], "generator_limited")
        self.call("run", config, "--strict", status=FAILED, out="strict")


class Processor(RankwireTest):
    """The CPU of the run loop."""

    def config(self, cpu):
        return {
            "workload": {"generate": SMALL},
            "ports": {"count": 2, "device": "ring", "rate": "1Gbps"},
            "run": {"cpu": cpu},
        }

    def test_a_run_on_one_of_those_that_it_may_use(self):
        run = self.call("run", self.config(max(os.sched_getaffinity(0))))
        self.assert_delivered(run)
        self.assertGreaterEqual(run.summary["generator"]["worst_turn_ps"], run.summary["generator"]["turn_ps"])

    def test_another_is_refused_with_those_that_there_are(self):
        missing = 1023
        for verb in ("check", "run"):
            refused = rankwire(verb, self.configuration(self.config(missing)))
            self.assertEqual(refused.returncode, USAGE, refused.stderr)
            self.assertIn(f"run.cpu: {missing} is not a CPU that this process may use", refused.stderr)


class HugePages(RankwireTest):
    def test_of_several_that_find_enough_for_one_each_runs(self):
        take_huge_pages(self, 256 + 128)  # 512 MiB for one, and half of that
        config = {"workload": {"generate": {"kind": "micro", "case": "all_reduce"}}, "ports": {"count": 2, "device": "ring"}}
        path = self.configuration(config)
        runs = [start("run", path, "--out", self.folder / str(i), "--quiet") for i in range(4)]
        for run in runs:
            output, errors = run.communicate(timeout=240)
            self.assertEqual(run.returncode, OK, output + errors)


class OrdinaryUser(RankwireTest):
    """No root, no hugepages, no capabilities: the embedded ports need none."""

    def test_run_on_rings(self):
        as_nobody = self.as_ordinary_user()
        config = {
            "workload": {"generate": SMALL},
            "hosts": {"count": 4, "npus": 2},
            "ports": {"count": 4, "device": "ring", "rate": "1Gbps"},
            "transport": {"checking": True},
        }
        run = self.call("run", config, **as_nobody)
        self.assert_delivered(run)
        self.assertNotEqual((run.folder / "run.sqlite").stat().st_uid, 0)


if __name__ == "__main__":
    unittest.main()

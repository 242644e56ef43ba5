"""What a run would have taken without a cause, as replays of its record say it, beside the run without that cause.

Virtual time on the embedded fabric, with the causes that blame_test.py injects, one at a time. The truth is the twin of the
same job without what was injected.
"""

import copy
import random
import unittest

import blame_test
from rankwire import OK, RankwireTest, Run, rankwire


def without_receiver(config):
    for port in config["ports"]:
        port.pop("drain_rate", None)


def without_algorithm(config):
    del config["transport"]
    config["fabric"].pop("ecn", None)


# Of each kind: what was injected, which part of the gap that is, and which part of what it took its replay finds, at least
# and at most. What other connections waited for meanwhile, behind a queue or a window, has parts of its own, so that of
# losses and pauses some is missing; an algorithm with marks also keeps queues short, which the run without it has.
KINDS = {
    "slow_nic": (without_receiver, "paused", 0.9, 1.02),
    "lossy_cable": (lambda config: config["fabric"].pop("failures"), "recovering", 0.6, 1.02),
    "pfc_storm": (lambda config: config.pop("impairments"), "paused", 0.3, 1.02),
    "congestion_control": (without_algorithm, "congestion_control", 0.9, 1.15),
    "ecn_threshold": (without_algorithm, "congestion_control", 0.9, 1.25),
    "small_window": (lambda config: config.pop("transport"), "window", 0.8, 1.02),
    "reordering": (lambda config: config.pop("impairments"), "recovering", 0.9, 1.05),
}


class CausesRemoved(RankwireTest):
    def twin(self, config, name):
        path = self.configuration(config, f"{name}.yaml")
        folder = self.folder / name
        options = ("--twin", "--set", "simulation.fidelity=[flow]", "--out", folder)
        process = rankwire("simulate", path, *options)
        self.assertEqual(process.returncode, OK, process.stderr)
        return Run(folder).summary

    def test_one_at_a_time(self):
        for kind, (heal, part, least, most) in KINDS.items():
            with self.subTest(kind=kind):
                # The first seed whose injection acts by that part.
                for seed in range(8):
                    config, _ = getattr(blame_test, kind)(random.Random(f"{kind}{seed}"))
                    ill = self.twin(config, f"{kind}-ill{seed}")
                    waterfall = ill["waterfall"]
                    if waterfall[f"{part}_ps"] > waterfall["gap_ps"] // 4:
                        break
                healthy = copy.deepcopy(config)
                heal(healthy)
                took = ill["emulated"]["completion_time_ps"]
                truth = took - self.twin(healthy, f"{kind}-healthy")["emulated"]["completion_time_ps"]
                removed = ill["without_causes"]
                self.assertGreater(truth, took // 100)
                self.assertLess(abs(removed["error"]), 0.001)
                self.assertGreater(took - removed[f"{part}_ps"], least * truth)
                self.assertLess(took - removed[f"{part}_ps"], most * truth)


if __name__ == "__main__":
    unittest.main()

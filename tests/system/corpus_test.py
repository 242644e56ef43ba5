"""Public traces: all that they ask for arrives, once, unharmed, and is what the traces say.

Runs the configurations of the same names, in real time where nothing else is said.
"""

import unittest

import corpus
from rankwire import RankwireTest

GB = 10**9


class Corpus(RankwireTest):
    def run_set(self, traces, *settings, least=2 * GB):
        folder = self.unpack(traces.archive)
        config, own_settings = traces.arguments(folder)
        run = self.call("run", config, *own_settings, *settings)
        self.assert_delivered(run)
        self.assertEqual(run.summary["bytes"], traces.bytes_of(folder, run.summary["config"]["workload"]))
        self.assertGreaterEqual(run.summary["bytes_wire"], least)
        # Data packets and what repeats them carry the bytes, a path MTU at most in each.
        self.assertGreaterEqual(run.transport["data_packets_tx"], run.summary["bytes_wire"] // 4096)
        self.assertGreater(run.transport["bytes_tx"], run.summary["bytes_wire"])
        return run

    def run_with_loss(self, traces):
        # A quarter of the bytes: repairs come by the packet, of which that leaves more than 100,000.
        run = self.run_set(traces, "--set", "switch.loss=1%", "--set", f"workload.scale.bytes={traces.quarter}", least=GB // 2)
        self.assertGreater(run.transport["retransmitted"], 0)
        self.assertGreater(run.transport["naks"], 0)
        self.assertGreater(sum(int(row["dropped"]) for row in run.rows("ports", fidelity="emulated")), 0)


class Lossless(Corpus):
    def test_gpt3(self):
        self.run_set(corpus.GPT3)

    def test_mlsynth(self):
        self.run_set(corpus.MLSYNTH)

    def test_resnet50_on_64_ranks(self):
        self.assertEqual(self.run_set(corpus.RESNET50).summary["ranks"], 64)


class OnePercentLoss(Corpus):
    def test_gpt3(self):
        self.run_with_loss(corpus.GPT3)

    def test_mlsynth(self):
        self.run_with_loss(corpus.MLSYNTH)

    def test_resnet50_on_64_ranks(self):
        self.run_with_loss(corpus.RESNET50)


class VirtualTime(Corpus):
    def test_twin_of_gpt3_agrees_with_the_reference(self):
        folder = self.unpack(corpus.GPT3.archive)
        config, settings = corpus.GPT3.arguments(folder)
        run = self.call("simulate", config, "--twin", "--set", "switch.buffer=256MiB", *settings)
        self.assert_delivered(run)
        self.assertEqual(run.transport["retransmitted"], 0)
        print(f"gpt3_8r: twin / reference {run.summary['ratio']:.4f}")
        self.assertLessEqual(abs(run.summary["ratio"] - 1), 0.05)


if __name__ == "__main__":
    unittest.main()

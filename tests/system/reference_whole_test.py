"""Packets take what the reference says, within 2 % of its band, with public traces and all of their bytes.

Of those of 64 and 256 ranks a part of their bytes: the whole of them is as many messages, but takes from minutes to hours.
"""

import unittest

from reference_cases import ReferenceCases


class WholeReferenceBand(ReferenceCases):
    def test_one_rank_a_port(self):
        for name in ("gpt3", "llama8b", "moe", "mlsynth"):
            with self.subTest(name=name):
                self.assert_near(self.band(name, "1"))

    def test_resnet50_on_64_ranks(self):
        for ranks in (1, 8):
            with self.subTest(ranks=ranks):
                self.assert_near(self.band("resnet50", "1/16", ranks))

    def test_llama_70b_on_64_ranks(self):
        self.assert_near(self.band("llama70b", "1/16"))

    def test_transformer_on_64_ranks(self):
        # 536 GiB of 1/64 and more take minutes.
        self.assert_near(self.band("transformer", "1/256"))

    def test_gpt_on_256_ranks(self):
        self.assert_near(self.band("gpt", "1/256"))

    def test_small_differences_lengthen_short_steps(self):
        # An exception: messages of 1/256 are so short that the band, whose members differ by 0.1 %, is 2 % above what
        # takes place in perfect symmetry, as the twin does where each rank has a port of its own. With as small
        # differences of its own the twin takes what the band says.
        exact = self.band("llama70b", "1/256")
        self.assertLess(exact["ratio_high"], 0.98)
        self.assert_near(self.band("llama70b", "1/256", jitter="0.1%"))

    def test_ports_of_eight_ranks(self):
        self.assert_near(self.band("llama70b", "1/256", 8))


if __name__ == "__main__":
    unittest.main()

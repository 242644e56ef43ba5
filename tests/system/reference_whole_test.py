"""Packets take what the reference says, within 2 % of its band, with public traces and, but for one, all of their bytes."""

import unittest

from reference_cases import ReferenceCases


class WholeReferenceBand(ReferenceCases):
    def test_one_rank_a_port(self):
        for name in ("gpt3", "llama8b", "moe", "mlsynth"):
            with self.subTest(name=name):
                self.assert_near(self.band(name, "1"))

    def test_resnet50_on_64_ranks(self):
        # The bytes of a 16th: the whole has as many messages, but takes minutes.
        for ranks in (1, 8):
            with self.subTest(ranks=ranks):
                self.assert_near(self.band("resnet50", "1/16", ranks))


if __name__ == "__main__":
    unittest.main()

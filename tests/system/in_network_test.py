"""Reduction in the network, checked byte by byte, in real and in virtual time."""

import unittest

from rankwire import SOURCE, RankwireTest


class InNetwork(RankwireTest):
    def test_the_example(self):
        # The comment in the file derives the bytes.
        config = SOURCE / "configs/in_network.yaml"
        for arguments in (("run", config), ("simulate", config, "--twin")):
            with self.subTest(verb=arguments[0]):
                run = self.call(*arguments, out=arguments[0])
                self.assert_delivered(run)
                self.assertEqual(run.summary["bytes_wire"], 4 * 29_884_416 + 10_485_760)
                ranks = {int(row["rank"]) for row in run.rows("operations") if row["kind"] == "all_reduce"}
                self.assertEqual(ranks, set(range(8 + 3)))


if __name__ == "__main__":
    unittest.main()

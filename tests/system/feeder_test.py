"""The example of the feeder's library, from outside."""

import unittest

import chakra
from rankwire import BINARY, OK, USAGE, RankwireTest, rankwire

REPLAY = BINARY.parent / "replay"


class Replay(RankwireTest):
    def write(self, nodes):
        path = self.folder / "w.0.et"
        chakra.write(path, nodes)
        return path

    def test_takes_the_time_that_the_resources_take(self):
        # Two computes of 5 us and 7 us, one after the other for want of a second accelerator; a collective of 20 us
        # behind the first, beside the second; 1 us behind all: 5 + 20 + 1.
        path = self.write(
            [
                chakra.Node(1, "first", duration_us=5),
                chakra.Node(2, "second", duration_us=7),
                chakra.Node(3, "all", chakra.COLLECTIVE, [1], 20, {"comm_type": chakra.ALL_REDUCE, "comm_size": 8}),
                chakra.Node(4, "last", dependencies=[2, 3], duration_us=1),
            ]
        )
        run = rankwire(path, binary=REPLAY)
        self.assertEqual((run.returncode, run.stderr), (OK, ""))
        self.assertEqual(run.stdout, "4 nodes in 26.000 us, at most 4 in memory\n")

    def test_the_order_decides_what_comes_first(self):
        # By id the compute of 5 us comes before that of 7 us, on which the collective waits: 5 + 7 + 20. In file order
        # the collective begins after 7.
        path = self.write(
            [
                chakra.Node(2, "long", duration_us=7),
                chakra.Node(1, "short", duration_us=5),
                chakra.Node(3, "all", chakra.COLLECTIVE, [2], 20, {"comm_type": chakra.ALL_REDUCE, "comm_size": 8}),
            ]
        )
        self.assertIn("in 32.000 us", rankwire(path, binary=REPLAY).stdout)
        self.assertIn("in 27.000 us", rankwire(path, "file_order", binary=REPLAY).stdout)

    def test_says_what_is_wrong(self):
        path = self.write([chakra.Node(1, "a", dependencies=[2]), chakra.Node(2, "b", dependencies=[1])])
        run = rankwire(path, binary=REPLAY)
        self.assertEqual(run.returncode, USAGE)
        self.assertIn(f"{path}: dependencies are a cycle", run.stderr)
        self.assertEqual(rankwire(path, "by_colour", binary=REPLAY).returncode, USAGE)


if __name__ == "__main__":
    unittest.main()

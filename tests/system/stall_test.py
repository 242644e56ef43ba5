"""What a run that stands still says: which way of standing still it is, who is at its root, and who waits for whom.

In virtual time. Retransmission timers run for 4.3 s, longer than a run may stand still, so that nothing fails by itself.
"""

import html
import json
import unittest

import chakra
from rankwire import FAILED, RankwireTest

RANKS = 6
SIZE = 8 << 20
ALL = {"transmissions": "all"}


def dead(rank):
    """Nothing leaves the rank's port, nor is anything received there."""
    rules = [{"action": "drop", "port": f"p{rank}", "direction": way} | ALL for way in ("transmit", "receive")]
    return {"impairments": rules}


def mute(rank):
    """No acknowledgement leaves the rank's port."""
    return {"impairments": [{"action": "drop", "class": "ack", "port": f"p{rank}"} | ALL]}


def paused(rank):
    """The rank's port pauses the switch for good, which pauses those that send to it once its buffer is full."""
    return {
        "fabric": {"topology": "star", "lossless": [3], "buffer": {"xoff": "64KiB", "headroom": "64KiB"}},
        "impairments": [{"action": "pause", "priorities": [3], "port": f"p{rank}", "interval": "300us"}],
    }


class Stalls(RankwireTest):
    def stalled(self, config, out):
        run = self.call("simulate", config, "--twin", status=FAILED, out=out)
        self.assertEqual((run.summary["verdict"], run.summary["reason_code"]), ("stalled", "no_progress"))
        stall = run.summary["stall"]
        whole = json.loads((run.folder / "stalls.json").read_text(encoding="utf-8"))
        waits = whole.pop("waits")
        self.assertEqual(whole, stall)
        # Each link of the chain is one of the waits, and leads to the next.
        for link, following in zip(stall["chain"], stall["chain"][1:]):
            self.assertEqual(link["peer"], following["rank"])
        for link in stall["chain"]:
            self.assertIn(link, waits)
        page = html.unescape((run.folder / "report.html").read_text(encoding="utf-8"))
        self.assertIn(stall["text"], page)
        return stall

    def ring(self, **sections):
        """A ring all-reduce, in which each rank sends to the next."""
        gradient = chakra.collective(chakra.ALL_REDUCE, SIZE, id=7, name="sum of gradients")
        chakra.write_ranks(self.folder / "t", [[gradient]] * RANKS)
        transport = {"timeout": 20, "mtu": "4096B", "window": 256} | sections.pop("transport", {})
        return {
            "workload": {"traces": str(self.folder / "t")},
            "collectives": {"algorithms": {"all_reduce": "ring"}},
            "hosts": {"count": RANKS, "npus": 1},
            "ports": {"count": RANKS, "rate": "100Gbps"},
            "transport": transport,
            "run": {"stall_timeout": "300ms"},
        } | sections

    def test_a_cause_at_a_rank_is_named_with_its_class(self):
        for kind, plant in (("dead_peer", dead), ("lost_completion", mute), ("pfc_deadlock", paused)):
            for rank in range(RANKS):
                with self.subTest(kind=kind, rank=rank):
                    stall = self.stalled(self.ring(**plant(rank)), f"{kind}{rank}")
                    self.assertEqual((stall["class"], stall["culprit"]), (kind, rank), stall["text"])
                    self.assertIn(f"rank {rank} (host {rank}, port p{rank})", stall["text"])
                    self.assertEqual(stall["chain"][-1]["operation"], "sum of gradients")
                    self.assertGreater(stall["chain"][-1]["source_qp"], 0)

    def test_places_that_are_all_taken(self):
        # Each rank begins what the next one holds back: 0 and 1 meet in a, 1 and 2 in b, 2 and 0 in c.
        groups = {"a": [0, 1], "b": [1, 2], "c": [0, 2]}
        nodes = [
            [chakra.collective(chakra.ALL_REDUCE, 1024, id=i, name=f"sum in {group}", group=group) for i, group in pair]
            for pair in (((1, "a"), (2, "c")), ((1, "b"), (2, "a")), ((1, "c"), (2, "b")))
        ]
        chakra.write_ranks(self.folder / "g", nodes)
        (self.folder / "g.json").write_text(json.dumps(groups), encoding="utf-8")
        config = {
            "workload": {"traces": str(self.folder / "g")},
            "concurrency": {"communication": 1},
            "hosts": {"count": 3, "npus": 1},
            "ports": {"count": 3, "rate": "100Gbps"},
        }
        stall = self.stalled(config, "places")
        self.assertEqual((stall["class"], stall["is_cycle"], stall["culprit"]), ("concurrency_limit", True, None))
        self.assertEqual({link["rank"] for link in stall["chain"]}, {0, 1, 2})
        self.assertEqual(stall["ranks_behind"], 3)

    def test_a_failed_connection_is_a_dead_peer(self):
        config = self.ring(**dead(4), transport={"timeout": 8})
        run = self.call("simulate", config, "--twin", status=FAILED, out="failed")
        self.assertEqual(run.summary["reason_code"], "message_failed")
        self.assertEqual((run.summary["stall"]["class"], run.summary["stall"]["culprit"]), ("dead_peer", 4))

    def test_who_ends_well_has_no_stall(self):
        self.stalled(self.ring(**dead(1)), "well")
        run = self.call("simulate", self.ring(), "--twin", out="well")
        self.assertIsNone(run.summary["stall"])
        self.assertFalse((run.folder / "stalls.json").exists())


if __name__ == "__main__":
    unittest.main()

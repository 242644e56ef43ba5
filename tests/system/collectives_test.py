"""Every collective with sizes that divide badly, checked byte by byte in the twin."""

import gzip
import itertools
import unittest

import chakra
import traffic
from rankwire import RankwireTest

KINDS = {
    "all_reduce": chakra.ALL_REDUCE,
    "reduce": chakra.REDUCE,
    "all_gather": chakra.ALL_GATHER,
    "gather": chakra.GATHER,
    "scatter": chakra.SCATTER,
    "broadcast": chakra.BROADCAST,
    "all_to_all": chakra.ALL_TO_ALL,
    "reduce_scatter": chakra.REDUCE_SCATTER,
    "barrier": chakra.BARRIER,
}
ROOTED = (chakra.REDUCE, chakra.GATHER, chakra.SCATTER, chakra.BROADCAST)
# Fewer elements than members, one packet, one byte more than three packets, one byte less than a message of 1 MiB.
SIZES = (1, 4096, 3 * 4096 + 1, (1 << 20) - 1)


class Collectives(RankwireTest):
    def nodes(self, ranks):
        """One chain of all collectives in all sizes, the roots taken in turn."""
        chain = []
        for (name, kind), size in itertools.product(KINDS.items(), SIZES):
            id = len(chain)
            root = id % ranks if kind in ROOTED else None
            after = [id - 1] if id > 0 else []
            size = 0 if kind == chakra.BARRIER else size
            chain.append(chakra.collective(kind, size, id=id, after=after, name=f"{name} of {size}", root=root))
        return chain

    def config(self, prefix, ranks):
        return {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": ranks, "npus": 1},
            "ports": {"count": ranks, "rate": "10Gbps"},
            "transport": {"checking": True, "mtu": "1024B", "timeout": 12},
        }

    def sent(self, nodes, ranks):
        total = 0
        for node in nodes:
            a = node.attributes
            total += traffic.sent_by_group(a["comm_type"], a["comm_size"], ranks, 1, a.get("root", 0))
        return total

    def test_all_kinds_and_sizes(self):
        for ranks in (2, 3, 8):
            for loss in ("0%", "1%"):
                with self.subTest(ranks=ranks, loss=loss):
                    nodes = self.nodes(ranks)
                    prefix = self.folder / f"of{ranks}"
                    chakra.write_ranks(prefix, [nodes] * ranks)
                    config = self.config(prefix, ranks) | {"switch": {"loss": loss}}
                    run = self.call("simulate", config, "--twin", out=f"{ranks}.{loss}")
                    self.assert_delivered(run)
                    self.assertEqual(run.summary["bytes_wire"], self.sent(nodes, ranks))
                    self.assertEqual(run.summary["bytes_local"], 0)
                    self.assertEqual(len(run.rows("operations")), ranks * len(nodes))
                    for kind in KINDS:
                        self.assertEqual(len(run.rows("operations", kind=kind)), ranks * len(SIZES), kind)

    def test_compressed_traces_are_the_same(self):
        ranks = 3
        chakra.write_ranks(self.folder / "plain", [self.nodes(ranks)] * ranks)
        for rank in range(ranks):
            data = (self.folder / f"plain.{rank}.et").read_bytes()
            (self.folder / f"small.{rank}.et.gz").write_bytes(gzip.compress(data))
        plain, small = (
            self.call("simulate", self.config(self.folder / name, ranks), out=f"run.{name}")
            for name in ("plain", "small")
        )
        self.assertEqual(plain.rows("operations"), small.rows("operations"))


if __name__ == "__main__":
    unittest.main()

"""Other descriptions of a job become traces that run."""

import json
import unittest

import chakra
import traffic
from rankwire import OK, RankwireTest, rankwire


class Convert(RankwireTest):
    def convert(self, kind, *inputs):
        """What the conversion to the folder `traces` says of itself."""
        process = rankwire("convert", kind, *inputs, "--out", self.folder / "traces", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        return json.loads(process.stdout)

    def simulate(self, made, **workload):
        """A run of the reference with all that was made, each rank on a host of its own."""
        traces = {"traces": made["traces"]} | ({"groups": made["groups"]} if made["groups"] else {})
        config = {
            "workload": traces | workload,
            "hosts": {"count": made["ranks"], "npus": 1},
            "ports": {"count": 2, "device": "memory", "rate": "100Gbps"},
        }
        run = self.call("simulate", config, "--twin")
        self.assert_delivered(run)
        return run

    def bytes_of(self, made, groups):
        """What the traces move, by the sizes of the groups."""
        return traffic.bytes_of(chakra.read_ranks(made["traces"]), groups, 1, 1)


class Pytorch(Convert):
    def test_eight_ranks_of_dlrm_run(self):
        host = self.unpack("traces/param/dlrm_pytorch_et.tar.gz") / "dlrm_pytorch_et"
        kineto = self.unpack("traces/param/dlrm_kineto.tar.gz") / "dlrm_kineto"
        made = self.convert("pytorch", *host.glob("*.json"), *kineto.glob("*.json"))
        # A rank: 3 all-reduces and 1 all-to-all of equal parts; 4 of unequal parts are 7 messages to the others each.
        self.assertEqual((made["ranks"], made["collectives"], made["sends"], made["receives"]), (8, 32, 224, 224))
        for rank in range(8):
            nodes = chakra.read(f"{made['traces']}.{rank}.et")
            sizes = [n.attributes["comm_size"] for n in nodes if n.type == chakra.COLLECTIVE]
            # Floats: 394,241 and 112 and 226,960; 24 64-bit integers.
            self.assertEqual(sorted(sizes), [192, 4 * 112, 4 * 226960, 4 * 394241])
        run = self.simulate(made)
        self.assertEqual(run.summary["ranks"], 8)
        self.assertEqual(run.summary["bytes"], self.bytes_of(made, {"0": 8}))


if __name__ == "__main__":
    unittest.main()

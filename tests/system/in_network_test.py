"""Reduction in the network, checked byte by byte, in real and in virtual time, and what the models say of it."""

import json
import unittest

import chakra
from rankwire import SOURCE, RankwireTest

MIB = 1 << 20


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
                self.assertEqual(run.summary["aggregators"], [
                    {"rank": 8 + i, "name": name} for i, name in enumerate(("leaf0", "leaf1", "spine"))])
                page = (run.folder / "report.html").read_text(encoding="utf-8")
                self.assertIn('<td class="n">7</td>', page)
                for rank, name in ((8, "leaf0"), (9, "leaf1"), (10, "spine")):
                    self.assertIn(f'<td class="n">{name}</td>', page)  # in the tables of ranks and queue pairs
                    self.assertNotIn(f">rank {rank} ", page)  # in the picture
                    self.assertIn(f">{name} reference<", page)
                events = json.loads((run.folder / "timeline.json").read_text(encoding="utf-8"))["traceEvents"]
                names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
                self.assertLessEqual({"rank 7 reference", "leaf0 reference", "spine reference"}, names)

    def test_models_of_a_tree(self):
        # 4 MiB through two leaves and the one above them: up twice and down twice, each message alone on the slowest path,
        # from 10 Gb/s to 20 Gb/s: 1024 packets of 4096 + 82 bytes and 20 more in the first and last, 1.2 us of switch and
        # cables, and the first packet (4096 + 82 + 16), which the switch stores before it sends it at 20 Gb/s. The leaves
        # send at 20 Gb/s, but share the line of the top. The last acknowledgement, 1.2 us, is in `flow` alone.
        chakra.write_ranks(self.folder / "t", [[chakra.collective(chakra.ALL_REDUCE, 4 * MIB)]] * 4)
        rates = {"h0": 10, "h1": 10, "h2": 10, "h3": 10, "l0": 20, "l1": 20, "top": 20}
        run = self.call("simulate", {
            "workload": {"traces": str(self.folder / "t")},
            "hosts": {"count": 4, "npus": 1},
            "ports": [{"name": name, "device": "memory", "rate": f"{rate}Gbps"} for name, rate in rates.items()],
            "collectives": {
                "chunk": "2147483647B",
                "algorithms": {"all_reduce": "in_network"},
                "aggregators": [
                    {"name": "leaf0", "port": "l0", "parent": "spine", "ports": ["h0", "h1"]},
                    {"name": "leaf1", "port": "l1", "parent": "spine", "ports": ["h2", "h3"]},
                    {"name": "spine", "port": "top"},
                ],
            },
            "simulation": {"fidelity": ["alpha_beta", "flow", "twin"]},
        })
        times = {model["model"]: model["completion_time_ps"] for model in run.summary["models"]}
        time = 4 * ((1024 * 4178 + 20) * 800 + 1_200_000 + 4194 * 400)
        self.assertEqual(times["alpha_beta"], time)
        self.assertAlmostEqual(times["flow"], time + 1_200_000, delta=10_000)
        self.assertAlmostEqual(times["twin"] / times["flow"], 1, delta=0.01)

    def test_looking_for_alike_ranks_changes_nothing(self):
        # Runs that record every message are made as a whole. Without, alike ranks are looked for; an aggregator serves its
        # members one after the other, which tells them apart, so this run must be made as a whole, too.
        runs = [self.call("simulate", SOURCE / "configs/in_network.yaml", "--set", f"record.messages={which}", out=which)
                for which in ("none", "all")]
        for table in ("operations", "ranks"):
            rows = [run.rows(table) for run in runs]
            self.assertGreaterEqual(len(rows[0]), 8 + 3)
            self.assertEqual(rows[0], rows[1])


if __name__ == "__main__":
    unittest.main()

"""ASTRA-sim's inputs from outside: its command line, a configuration, and what is said where it would hang."""

import csv
import json
import unittest

import chakra
from rankwire import FAILED, OK, TEST_DATA, USAGE, RankwireTest, rankwire

RING = "topology: [Ring]\nnpus_count: [{npus}]\nbandwidth: [50]\nlatency: [500]\n"
SYSTEM = {
    "preferred-dataset-splits": 4,
    "endpoint-delay": 10,
    "local-mem-bw": 1600,
    **{f"{name}-implementation": ["ring"] for name in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")},
}
MIB = 1 << 20


def all_reduce(after=()):
    return chakra.collective(chakra.ALL_REDUCE, MIB, 2, list(after))


class Astra(RankwireTest):
    def write(self, ranks, npus=None):
        """Traces, network and system; returns the configuration."""
        chakra.write_ranks(self.folder / "w", ranks)
        (self.folder / "network.yml").write_text(RING.format(npus=npus or len(ranks)), encoding="utf-8")
        (self.folder / "system.json").write_text(json.dumps(SYSTEM, indent=1), encoding="utf-8")
        return {
            "workload": {"traces": "w"},
            "simulation": {"fidelity": "astra", "astra": {"network": "network.yml", "system": "system.json"}},
        }

    def refuse(self, config, status, *texts):
        path = self.configuration(config)
        process = rankwire("simulate", path, "--out", self.folder / "run", "--json", "--force")
        said = process.stderr + process.stdout
        self.assertEqual(process.returncode, status, said)
        for text in texts:
            self.assertIn(text, said)

    def test_compute_without_work_takes_no_time(self):
        def gemm(node, operations, tensor, after=()):
            return chakra.Node(node, f"g{node}", dependencies=list(after), duration_us=9,
                               attributes={"num_ops": operations, "tensor_size": tensor})

        # 10^6 operations at 10^12 a second take 1 us; neither 5 operations without a tensor nor a tensor without
        # operations take any of it.
        config = self.write([[gemm(1, 5, 0), gemm(2, 0, 64, [1]), gemm(3, 0, 0, [2]), gemm(4, 10**6, 1000, [3])]] * 2)
        roofline = SYSTEM | {"roofline-enabled": 1, "peak-perf": 1}
        (self.folder / "system.json").write_text(json.dumps(roofline), encoding="utf-8")
        run = self.call("simulate", config)
        self.assertEqual(run.summary["reference"]["per_rank_ps"], [1_000_000] * 2)
        times = [(row["reference_start_ps"], row["reference_end_ps"]) for row in run.rows("operations", rank="0")]
        self.assertEqual(times, [("0", "0")] * 3 + [("0", "1000000")])
        config = self.write([[chakra.Node(1, "g1", duration_us=9, attributes={"num_ops": 5})]] * 2)
        (self.folder / "system.json").write_text(json.dumps(roofline), encoding="utf-8")
        self.refuse(config, USAGE, 'w.0.et: node 1 "g1": \'roofline-enabled\' takes num_ops and tensor_size')

    def test_two_of_a_ring_with_congestion(self):
        config = self.write(
            [[chakra.Node(1, "s", chakra.SEND, [], 0, {"comm_dst": 1, "comm_tag": 1, "comm_size": MIB})],
             [chakra.Node(1, "r", chakra.RECEIVE, [], 0, {"comm_src": 0, "comm_tag": 1, "comm_size": MIB})]])
        config["simulation"]["astra"]["congestion"] = "aware"
        # 500 ns and 2^20 bytes at 50 x 2^30 a second, 19531.25 ns.
        self.assertEqual(self.call("simulate", config).summary["reference"]["per_rank_ps"], [20_031_000] * 2)

    def test_a_reduction_needs_the_memory_bandwidth(self):
        config = self.write([[all_reduce()] for _ in range(2)])
        lacking = {key: value for key, value in SYSTEM.items() if key != "local-mem-bw"}
        (self.folder / "system.json").write_text(json.dumps(lacking), encoding="utf-8")
        self.refuse(config, USAGE, "w.0.et: node 2", "'local-mem-bw'")

    def test_a_configuration_without_ports(self):
        config = self.write([[chakra.Node(1, "gemm", duration_us=5), all_reduce([1])] for _ in range(4)])
        run = self.call("simulate", config)
        # 5 us, then 4 chunks of 10 + 6 x (1720 + 10) + 3 x 120 ns: m = 64 KiB takes 500 + 1220.7 ns.
        self.assertEqual(run.summary["reference"]["per_rank_ps"], [48_000_000] * 4)
        self.assertEqual(run.summary["messages"], 0)
        rows = run.rows("operations", kind="all_reduce")
        times = {(row["reference_start_ps"], row["reference_end_ps"]) for row in rows}
        self.assertEqual(times, {("5000000", "48000000")})
        self.assertTrue((run.folder / "report.html").exists())
        self.assertEqual(rankwire("check", self.folder / "test.yaml").returncode, OK)

    def test_beside_packets(self):
        config = self.write([[all_reduce()] for _ in range(2)])
        config["ports"] = {"count": 2, "device": "memory", "rate": "100Gbps"}
        summary = self.call("simulate", config, "--twin").summary
        # A chunk of 256 KiB between 2: 10 + 2 x (2941 + 10) + 3 x 81 ns.
        self.assertEqual(summary["reference"]["completion_time_ps"], 4 * 6_155_000)
        self.assertGreater(summary["emulated"]["completion_time_ps"], 0)
        self.assertEqual(summary["transport"]["messages_delivered"], summary["messages"])

    def test_an_emulated_run_needs_ports(self):
        config = self.write([[all_reduce()] for _ in range(2)])
        for verb in (["run"], ["simulate", "--twin"], ["simulate", "--twin", "--sweep", "seed=1,2"]):
            process = rankwire(*verb, self.configuration(config))
            self.assert_one_line_error(process, USAGE, "needs 'ports'")

    def test_a_command_line_of_astra_sim(self):
        folder = self.unpack("astra_oracle/astra_oracle.tar.xz") / "astra_oracle"
        with open(TEST_DATA / "astra_oracle/rows.csv", encoding="utf-8", newline="") as file:
            rows = {row["row"]: row for row in csv.DictReader(file)}
        for name in ("r219", "r277"):
            row = rows[name]
            arguments = [word.replace("=", f"={folder}/") if "configuration=" in word else word
                         for word in row["args"].split()]
            arguments.append("--congestion=" + row["backend"].removeprefix("congestion_"))
            process = rankwire("astra", *arguments, "--json", "--force", "--out", self.folder / "run")
            self.assertEqual(process.returncode, OK, process.stderr)
            times = json.loads(process.stdout)["reference"]["per_rank_ps"]
            self.assertEqual(times, [1000 * int(row["finish_max_ns"])] * int(row["npus"]), name)

    def test_mismatched_collectives(self):
        other = chakra.collective(chakra.ALL_GATHER, MIB, 2)
        config = self.write([[all_reduce()], [other]])
        self.refuse(config, USAGE, "w.1.et", "all_gather", "all_reduce")

    def test_a_deadlock_between_ranks(self):
        # One communication at a time: each sends first, and neither's receive would be issued before the other's end.
        config = self.write(
            [[chakra.Node(1, "s", chakra.SEND, [], 0, {"comm_dst": 1 - r, "comm_tag": 1, "comm_size": MIB}),
              chakra.Node(2, "r", chakra.RECEIVE, [1], 0, {"comm_src": 1 - r, "comm_tag": 1, "comm_size": MIB})]
             for r in range(2)])
        # Without a rendezvous both go; with one, each awaits the receive behind the other's send.
        self.assertEqual(self.call("simulate", config).summary["reference"]["per_rank_ps"], [20_031_000] * 2)
        config["simulation"]["astra"]["rendezvous"] = True
        self.refuse(config, FAILED, "2 of 2 ranks hang", "rank 0 waits until rank 1 receives 1048576 bytes with tag 1")

    def test_a_cycle(self):
        config = self.write([[chakra.Node(1, "a", dependencies=[2], duration_us=1),
                              chakra.Node(2, "b", dependencies=[1], duration_us=1)] for _ in range(2)])
        self.refuse(config, USAGE, "w.0.et", "cycle")

    def test_a_missing_rank(self):
        config = self.write([[all_reduce()] for _ in range(2)], npus=4)
        self.refuse(config, USAGE, "network.yml: 4 NPUs, but the workload has 2 ranks")

    def test_a_metadata_node(self):
        config = self.write([[chakra.Node(1, "pg", chakra.METADATA), all_reduce([1])] for _ in range(2)])
        self.refuse(config, USAGE, 'w.0.et: node 1 "pg": a METADATA node')

    def test_a_collective_of_unequal_parts(self):
        splits = [MIB, 3 * MIB]
        uneven = chakra.collective(chakra.ALL_TO_ALL, sum(splits), 7, name="dispatch", splits=splits)
        config = self.write([[uneven]] * 2)
        self.refuse(config, USAGE, 'w.0.et: node 7 "dispatch": ASTRA-sim has no all_to_all of unequal parts (comm_splits); '
                    "take simulation.fidelity flow, alpha_beta or twin")

    def test_a_collective_that_it_does_not_have(self):
        config = self.write([[chakra.collective(chakra.REDUCE, MIB, 2)] for _ in range(2)])
        self.refuse(config, USAGE, "ASTRA-sim has no reduce")


if __name__ == "__main__":
    unittest.main()

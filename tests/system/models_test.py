"""Several models of one run, side by side."""

import contextlib
import sqlite3
import unittest

import chakra
from rankwire import OK, USAGE, RankwireTest, rankwire, transformer

MIB = 1 << 20
RANKS = 8
UNCUT = "2147483647B"


class Models(RankwireTest):
    """One NIC a rank on one switch, 10 Gb/s."""

    def config(self, nodes, **more):
        chakra.write_ranks(self.folder / "t", [nodes(rank) for rank in range(RANKS)])
        return {
            "workload": {"traces": str(self.folder / "t")},
            "hosts": {"count": RANKS, "npus": 1},
            "ports": {"count": RANKS, "device": "memory", "rate": "10Gbps"},
        } | more

    def times(self, run):
        self.assertEqual(run.summary["verdict"], "ok", run.summary["reason"])
        return {model["model"]: model["completion_time_ps"] for model in run.summary["models"]}

    def test_formulas_agree_where_nothing_is_shared(self):
        # Each of these sends one message at a time on every link, so that the sum of its messages is what it takes. The
        # last message's acknowledgement, 1.2 us, is in `flow` alone.
        for kind, name, algorithm in ((chakra.ALL_REDUCE, "all_reduce", "ring"),
                                      (chakra.ALL_REDUCE, "all_reduce", "halving_doubling"),
                                      (chakra.REDUCE_SCATTER, "reduce_scatter", "ring"),
                                      (chakra.ALL_GATHER, "all_gather", "recursive_doubling"),
                                      (chakra.ALL_GATHER, "all_gather", "bruck"),
                                      (chakra.ALL_TO_ALL, "all_to_all", "pairwise"),
                                      (chakra.ALL_TO_ALL, "all_to_all", "bruck")):
            with self.subTest(operation=name, algorithm=algorithm):
                config = self.config(lambda rank: [chakra.collective(kind, 16 * MIB)],
                                     collectives={"chunk": UNCUT, "algorithms": {name: algorithm}},
                                     simulation={"fidelity": ["flow", "alpha_beta"]})
                times = self.times(self.call("simulate", config, out=f"{name}-{algorithm}"))
                self.assertEqual(list(times), ["flow", "alpha_beta"])
                self.assertAlmostEqual(times["alpha_beta"] / times["flow"], 1, delta=0.005)

    def test_perfect_symmetry_is_no_prediction_and_the_band_is(self):
        # Groups that share a port stay in step under exactly fair shares, and all wait for all; packets, or a tenth of a
        # percent of difference, let them interleave.
        config = {
            "workload": {
                "generate": {"layers": 8, "hidden": 4096, "sequence": 2048, "micro_batches": 4, "tensor_parallel": 8,
                             "pipeline_parallel": 1, "data_parallel": 8},
                "scale": {"bytes": "1/64", "compute": "1/64"},
            },
            "hosts": {"count": 8, "npus": 8},
            "ports": {"count": 8, "rate": "400Gbps"},
        }
        run = self.call("simulate", config, "--twin")
        band = run.summary["reference"]["band"]
        self.assertEqual(band["runs"], 16)
        self.assertLess(run.summary["models"][0]["ratio"], 0.75)
        self.assertEqual(run.summary["ratio"], band["ratio_median"])
        self.assertFalse(band["has_reference"])
        # All else is compared with the member at the median, to which the parts of the gap lead.
        self.assertEqual([model["model"] for model in run.summary["models"]], ["flow", "flow, median"])
        self.assertEqual(band["symmetric_ps"], run.summary["models"][0]["completion_time_ps"])
        self.assertEqual(run.summary["reference"]["completion_time_ps"], band["median_ps"])
        self.assertEqual(run.summary["waterfall"]["gap_ps"],
                         run.summary["emulated"]["completion_time_ps"] - band["median_ps"])
        self.assertGreater(band["ratio_median"], 0.93)
        self.assertLess(band["ratio_median"], 1.02)
        self.assertLess(band["p95_ps"] / band["p5_ps"], 1.05)

    def test_the_band_is_of_flow_and_stands_under_it_alone(self):
        def nodes(rank):
            return [chakra.collective(chakra.ALL_REDUCE, 16 * MIB)]

        def reference(*models, **more):
            config = self.config(nodes, simulation={"fidelity": list(models)} | more)
            return self.call("simulate", config, out="-".join(models)).summary["reference"]

        # The twin is no reference, so wherever it stands flow is.
        self.assertEqual(reference("twin", "flow")["band"]["runs"], 16)
        other = reference("alpha_beta", "flow", ensemble=4)
        self.assertIsNone(other["band"])
        self.assertIn("alpha_beta", other["band_note"])

    def test_what_a_ring_would_take_if_parts_of_it_were_free(self):
        # 1 ms of computing, then the ring of the next test: what is left without one of them is the other.
        def nodes(rank):
            work = chakra.Node(1, "work", chakra.COMPUTE, duration_us=1000)
            return [work, chakra.collective(chakra.ALL_REDUCE, 16 * MIB, id=2, after=[1])]

        run = self.call("simulate", self.config(nodes, simulation={"what_if": True}))
        whole = run.summary["reference"]["completion_time_ps"]
        free = {row["free"]: row for row in run.summary["what_if"] if row["free"] != "port"}
        self.assertEqual(free["compute"]["completion_time_ps"], whole - 10**9)
        self.assertAlmostEqual(free["wires"]["completion_time_ps"], 10**9, delta=1000)
        self.assertAlmostEqual(free["group"]["completion_time_ps"], 10**9, delta=1000)
        ports = [row for row in run.summary["what_if"] if row["free"] == "port"]
        self.assertEqual(len(ports), 8)
        # Without two of its eight links a ring is still as slow as the others.
        for row in ports:
            self.assertLess(row["saved_ps"], (whole - 10**9) / 4)

    def test_a_ring_by_hand(self):
        # 16 MiB among 8: 14 messages of 2 MiB, each 512 packets of 4096 + 82 bytes and 20 more in the first and last:
        # 2,139,156 bytes at 10 Gb/s, 1.2 us of switch and cables, and the first packet (4096 + 82 + 16), which the switch
        # stores before it sends.
        config = self.config(lambda rank: [chakra.collective(chakra.ALL_REDUCE, 16 * MIB)],
                             simulation={"fidelity": "alpha_beta"})
        message = (512 * 4178 + 20) * 800 + 1_200_000 + 4194 * 800
        self.assertEqual(self.times(self.call("simulate", config)), {"alpha_beta": 14 * message})

    def test_uneven_parts_take_what_the_busiest_sends(self):
        # Rank 0 sends 7 MiB to rank 1 and every other sends 1 KiB to the rank behind it; itself nobody sends anything.
        def nodes(rank):
            splits = [0] * RANKS
            splits[(rank + 1) % RANKS] = 7 * MIB if rank == 0 else 1 << 10
            return [chakra.collective(chakra.ALL_TO_ALL, sum(splits), splits=splits)]
        # 1792 packets of 4096 + 82 bytes and 20 more in the first and last, 1.2 us, and the first one (4096 + 82 + 16) before that.
        time = (1792 * 4178 + 20) * 800 + 1_200_000 + 4194 * 800
        config = self.config(nodes, collectives={"chunk": UNCUT},
                             simulation={"fidelity": ["alpha_beta", "flow", "twin"]})
        for algorithm in ("direct", "bruck", "pairwise", "hierarchical", "pxn"):
            with self.subTest(algorithm=algorithm):
                config["collectives"]["algorithms"] = {"all_to_all": algorithm}
                times = self.times(self.call("simulate", config, out=algorithm))
                if algorithm == "direct":
                    self.assertEqual(times["alpha_beta"], time)
                    # All else is from others, and acknowledgements are on their way 1.2 us.
                    self.assertAlmostEqual(times["flow"], time + 1_200_000, delta=2_000)
                self.assertAlmostEqual(times["twin"] / times["flow"], 1, delta=0.02)
        run = self.call("run", config | {"ports": {"count": RANKS, "device": "memory", "rate": "10Gbps"}}, out="run")
        self.assertEqual(run.summary["bytes"], 7 * MIB + (RANKS - 1) * 1024)
        # The doctor knows that inputs differ.
        process = rankwire("trace", "check", self.folder / "t")
        self.assertEqual(process.returncode, OK, process.stdout + process.stderr)

    def test_contention_is_what_flow_adds(self):
        # Two groups of the same ranks at once share every link; by the formula each has them alone.
        def nodes(rank):
            return [chakra.collective(chakra.ALL_REDUCE, 16 * MIB, id=1 + g, group=f"g{g}") for g in range(2)]
        groups = self.folder / "groups.json"
        groups.write_text('{"g0": [0,1,2,3,4,5,6,7], "g1": [0,1,2,3,4,5,6,7]}')
        config = self.config(nodes, simulation={"fidelity": ["alpha_beta", "flow"]}, collectives={"chunk": UNCUT})
        config["workload"]["groups"] = str(groups)
        times = self.times(self.call("simulate", config))
        self.assertAlmostEqual(times["flow"] / times["alpha_beta"], 2, delta=0.02)

    def test_recorded_durations(self):
        # Rank r computes 10 r us; the all-reduce of 100 us + r was recorded shortest at rank 0. Then 0 sends to 1.
        def nodes(rank):
            reduce = chakra.collective(chakra.ALL_REDUCE, MIB, id=2, after=[1])
            reduce.duration_us = 100 + rank
            chain = [chakra.Node(1, "work", duration_us=10 * rank), reduce]
            if rank == 0:
                chain.append(chakra.Node(3, "send", chakra.SEND, [2], 7,
                                         {"comm_size": 8, "comm_dst": 1, "comm_tag": 0}))
            if rank == 1:
                chain.append(chakra.Node(3, "receive", chakra.RECEIVE, [2], 9,
                                         {"comm_size": 8, "comm_src": 0, "comm_tag": 0}))
            return chain
        run = self.call("simulate", self.config(nodes, simulation={"fidelity": ["recorded", "flow"]}))
        per_rank = run.summary["reference"]["per_rank_ps"]
        self.assertEqual(per_rank, [177_000_000] * 2 + [170_000_000] * 6)
        self.assertEqual(self.times(run)["recorded"], 177_000_000)

    def test_every_model_tells_what_was_computed(self):
        # Rank r computes 10 (r + 1) us, as recorded: 10 + 20 + ... + 80 = 360 us in all. Rank 2 is slowed by 2 for as long
        # as it computes: 30 us more.
        def nodes(rank):
            reduce = chakra.collective(chakra.ALL_REDUCE, MIB, id=2, after=[1])
            reduce.duration_us = 100
            return [chakra.Node(1, "work", duration_us=10 * (rank + 1)), reduce]
        models = ["flow", "alpha_beta", "recorded"]
        config = self.config(nodes, simulation={"fidelity": models},
                             compute={"stragglers": [{"ranks": [2], "factor": 2}]})
        run = self.call("simulate", config)
        with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as record:
            told = record.execute("SELECT run, model FROM models ORDER BY run").fetchall()
            self.assertEqual([model for _, model in told], models)
            for number, model in told:
                with self.subTest(model=model):
                    def rows(columns, table):
                        return record.execute(f"SELECT {columns} FROM {table} WHERE run=? ORDER BY rank",
                                              (number,)).fetchall()
                    self.assertEqual(rows("rank, model, nodes, time_ps", "compute_times"),
                                     [(rank, "recorded", 1, 10_000_000 * (rank + 1)) for rank in range(RANKS)])
                    self.assertEqual(rows("rank, jitter_ps, noise_ps, slowed_ps", "compute_variation"),
                                     [(2, 0, 0, 30_000_000)])
                    self.assertEqual(rows("rank", "stragglers"), [(2,)])
        for model in models:
            with self.subTest(alone=model):
                config["simulation"] = {"fidelity": model}
                process = rankwire("simulate", self.configuration(config), "--out", self.folder / model)
                self.assertEqual(process.returncode, OK, process.stderr)
                self.assertRegex(process.stdout, r"(?m)^compute +360(\.0*)? us by recorded \(8 nodes\); "
                                                 r"stragglers \+30(\.0*)? us$")

    def test_a_trace_without_durations_is_an_error(self):
        config = self.config(lambda rank: [chakra.collective(chakra.ALL_REDUCE, MIB, id=5)],
                             simulation={"fidelity": "recorded"})
        process = rankwire("simulate", self.configuration(config), "--out", self.folder / "run")
        self.assert_one_line_error(process, USAGE, "node 5 of rank 0", "has no recorded duration")

    def test_side_by_side_in_summary_page_and_sweep(self):
        config = {
            "workload": {"generate": transformer(layers=2, pipeline_parallel=1)},
            "ports": {"count": 4, "device": "memory", "rate": "1Gbps"},
            "simulation": {"fidelity": ["flow", "alpha_beta"], "ensemble": "off"},
        }
        run = self.call("simulate", config, "--twin")
        models = run.summary["models"]
        self.assertEqual(models[0]["completion_time_ps"], run.summary["reference"]["completion_time_ps"])
        self.assertEqual(models[0]["ratio"], run.summary["ratio"])
        for model in models:
            self.assertAlmostEqual(model["ratio"],
                                   run.summary["emulated"]["completion_time_ps"] / model["completion_time_ps"])
        page = (run.folder / "report.html").read_text(encoding="utf-8")
        self.assertIn("Models side by side", page)
        self.assertIn("<td>alpha_beta</td>", page)
        process = rankwire("simulate", self.configuration(config), "--out", self.folder / "sweep", "--sweep",
                           "ports.rate=1Gbps,2Gbps")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertEqual(process.stdout.count("alpha_beta"), 2)

    def test_the_twin_among_the_models(self):
        config = self.config(lambda rank: [chakra.collective(chakra.ALL_REDUCE, MIB)],
                             simulation={"fidelity": ["flow", "alpha_beta", "twin"], "ensemble": "off"})
        listed = self.call("simulate", config, "--twin", out="listed")  # which adds nothing here
        times = self.times(listed)
        self.assertEqual(list(times), ["flow", "alpha_beta", "twin"])
        self.assertEqual(times["twin"], listed.summary["emulated"]["completion_time_ps"])
        self.assertAlmostEqual(listed.summary["ratio"], times["twin"] / times["flow"])
        self.assertIsNone(listed.summary["models"][2]["ratio"])
        self.assertEqual(self.fidelities(listed), ["reference", "reference", "twin"])
        # The same packets as by the option, whose twin is no model.
        config["simulation"] = {"fidelity": "flow"}
        option = self.call("simulate", config, "--twin", out="option")
        self.assertEqual(option.summary["emulated"], listed.summary["emulated"])
        self.assertEqual(list(self.times(option)), ["flow"])
        # First in the list it is what the others are beside; alone it has no reference.
        config["simulation"] = {"fidelity": ["twin", "flow"], "ensemble": "off"}
        first = self.call("simulate", config, out="first")
        self.assertEqual(first.summary["ratio"], listed.summary["ratio"])
        config["simulation"] = {"fidelity": "twin"}
        alone = self.call("simulate", config, out="alone")
        self.assertEqual(alone.summary["emulated"], listed.summary["emulated"])
        self.assertIsNone(alone.summary["reference"]["completion_time_ps"])
        self.assertIsNone(alone.summary["ratio"])

    def test_the_twin_as_the_reference_of_a_run(self):
        config = self.config(lambda rank: [chakra.collective(chakra.ALL_REDUCE, MIB)],
                             simulation={"fidelity": ["twin", "flow"]}, record={"capture": "8MiB"})
        run = self.call("run", config)
        times = self.times(run)
        self.assertEqual(times["twin"], run.summary["reference"]["completion_time_ps"])
        self.assertEqual(self.fidelities(run), ["emulated", "twin", "reference"])
        self.assertAlmostEqual(run.summary["ratio"],
                               run.summary["emulated"]["completion_time_ps"] / times["twin"])
        for file in ("capture.pcapng", "capture-twin.pcapng"):
            self.assertTrue((run.folder / file).exists(), file)

    def fidelities(self, run):
        with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as record:
            return [row[0] for row in record.execute("SELECT fidelity FROM runs ORDER BY run")]

    def test_wrong_lists(self):
        for fidelity, text in (([], "names no model"), (["flow", "flow"], "twice"), ("packets", "alpha_beta")):
            with self.subTest(fidelity=fidelity):
                config = self.config(lambda rank: [chakra.collective(chakra.ALL_REDUCE, MIB)],
                                     simulation={"fidelity": fidelity})
                self.assert_one_line_error(rankwire("check", self.configuration(config)), USAGE, "simulation.fidelity",
                                           text)


if __name__ == "__main__":
    unittest.main()

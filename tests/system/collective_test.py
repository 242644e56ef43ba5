"""`rankwire collective`: nccl-tests' table, emulated on the embedded switch, beside the reference."""

import json
import re
import signal
import subprocess
import unittest

from rankwire import BINARY, FAILED, OK, USAGE, RankwireTest, Run, rankwire, start, wait_for_operations
from schemas import schema_errors

RANKS = 4
# busbw / algbw of nccl-tests (doc/PERFORMANCE.md, src/*.cu) for n ranks.
FACTORS = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1,
    "reduce": lambda n: 1,
    "all_to_all": lambda n: (n - 1) / n,
    "all_to_all_v": lambda n: (n - 1) / n,
    "gather": lambda n: (n - 1) / n,
    "scatter": lambda n: (n - 1) / n,
    "sendrecv": lambda n: 1,
    "hypercube": lambda n: 1,
}
SMALL = ("-b", "1K", "-e", "16K", "-f", "4", "-w", "1", "-n", "3")


class Collective(RankwireTest):
    def measure(self, operation, *arguments, status=OK, out="run"):
        """The finished process and its run folder."""
        folder = self.folder / out
        process = rankwire("collective", operation, "--out", folder, *arguments)
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return process, Run(folder)

    def assert_bandwidths(self, operation, side, size):
        """algbw is size / time, in bytes per ns, and busbw that by the factor."""
        share = (RANKS - 1) / RANKS if operation == "hypercube" else 1
        self.assertAlmostEqual(side["algbw_GBps"], size * 1000 / side["time_ps"] * share, places=9)
        self.assertAlmostEqual(side["busbw_GBps"] / side["algbw_GBps"], FACTORS[operation](RANKS), places=9)

    def test_channels_take_turns(self):
        # A ring of 4 has 6 steps of 8 KiB in each of two channels. Fair shares end both at the same time, and the line then
        # waits for the delay, a packet's time on the next hop: 4096 + 82 bytes and more at 1 Gbit/s, 33.4 us. Packets in
        # turn hide it in all steps but the last of a call, also in the ensemble; so the single run, which has two calls,
        # one to warm up, is ten packets behind.
        packet = (4096 + 82) * 8 * 1000
        for channels, behind in (("1", 0), ("2", 10)):
            with self.subTest(channels=channels):
                _, run = self.measure("all_reduce", "--ranks", "4", "-b", "64K", "-e", "64K", "-w", "1", "-n", "1",
                                      "--channels", channels, "--twin", out=channels)
                (row,) = run.summary["collective"]["sizes"]
                self.assertAlmostEqual(row["ratio"], 1, delta=0.001)
                self.assertLessEqual(row["band_low_ps"], row["reference"]["time_ps"])
                band = run.summary["reference"]["band"]
                self.assertAlmostEqual((band["symmetric_ps"] - band["median_ps"]) / packet, behind, delta=0.5)

    def test_ports_of_eight_ranks(self):
        # Rings of 64 ranks on 8 ports with messages of 1 to 16 KiB, 8 of which go out while the first is under way: by
        # fair shares a call takes up to 1.8 times as long. What five sizes cost is not too much for a band.
        config = self.folder / "shared.yaml"
        config.write_text(
            "hosts: {count: 8, npus: 8, nics: 1}\nmapping: {policy: round_robin}\n"
            "ports: {count: 8, device: memory, rate: 400Gbps}\ntransport: {checking: 'off'}\n"
        )
        _, run = self.measure("all_reduce", "--config", config, "--twin", "-b", "64K", "-e", "1M", "-w", "1", "-n", "4")
        self.assertEqual(run.summary["reference"]["band"]["runs"], 16)
        for row in run.summary["collective"]["sizes"]:
            with self.subTest(size=row["size"]):
                self.assertAlmostEqual(row["ratio"], 1, delta=0.01)
                self.assertLessEqual(row["band_low_ps"], row["band_high_ps"])

    def test_every_collective_is_emulated_and_verified(self):
        for operation in FACTORS:
            with self.subTest(operation=operation):
                process, run = self.measure(operation, *SMALL, "--check", "--json", out=operation)
                summary = json.loads(process.stdout)
                self.assert_delivered(run)
                table = summary["collective"]
                self.assertEqual(table, run.summary["collective"])
                self.assertEqual((table["operation"], table["ranks"], table["wrong_messages"]), (operation, RANKS, 0))
                # An all_to_all_v rounds each part down to 16 B: of 1024, 4096 and 16384 B a sixth, a third, a half.
                uneven = [160 + 336 + 512, 672 + 1360 + 2048, 2720 + 5456 + 8192]
                sizes = uneven if operation == "all_to_all_v" else [1024, 4096, 16384]
                self.assertEqual([row["size"] for row in table["sizes"]], sizes)
                for row in table["sizes"]:
                    for side in ("emulated", "reference"):
                        # Of each rank three calls; the one that warms up is left out.
                        self.assertEqual(row[side]["calls"], 3 * RANKS)
                        self.assert_bandwidths(operation, row[side], row["size"])
                        self.assertLessEqual(row[side]["p50_ps"], row[side]["p95_ps"])
                    self.assertAlmostEqual(row["ratio"], row["emulated"]["time_ps"] / row["reference"]["time_ps"])
                mean = sum(row["emulated"]["busbw_GBps"] for row in table["sizes"]) / 3
                self.assertAlmostEqual(table["average_busbw_GBps"], mean, places=9)

    def test_table_csv_and_page_say_the_same(self):
        process, run = self.measure("all_reduce", *SMALL, "--check", "-o", "max", "-d", "half")
        lines = [line.split() for line in process.stdout.splitlines() if not line.startswith("#")]
        rows = run.rows("collective")
        self.assertEqual(len(lines), len(rows))
        page = (run.folder / "report.html").read_text(encoding="utf-8")
        self.assertIn("<h2>The collective by size</h2>", page)
        for line, row in zip(lines, rows):
            size, count, kind, redop, root, time, algbw, busbw, wrong = line[:9]
            self.assertEqual([size, count, kind, redop, root], [row["size"], row["count"], "half", "max", "-1"])
            self.assertEqual(int(count) * 2, int(size))
            self.assertEqual(wrong, "0")
            # Four digits of what the file has whole.
            for text, value in ((time, int(row["time_ps"]) / 1e6), (algbw, float(row["algbw_GBps"])),
                                (busbw, float(row["busbw_GBps"]))):
                self.assertAlmostEqual(float(text) / value, 1, delta=6e-4)
                self.assertRegex(text, r"[1-9]")
                self.assertIn(f">{text}</td>", page)
        self.assertIn("# Wrong messages       : 0 OK", process.stdout)
        self.assertRegex(process.stdout, r"# Avg bus bandwidth    : 0\.\d*[1-9]")
        self.assertEqual(page.count("<title>Bus bandwidth over size, GB/s</title>"), 1)
        self.assertEqual(page.count("<title>Time over size, us</title>"), 1)

    def test_sizes_grow_by_a_steady_step(self):
        arguments = ("-b", "1K", "-e", "13K", "-i", "3K", "-n", "2", "-w", "1", "--twin")
        process, run = self.measure("all_reduce", *arguments, "-c", "1")
        sizes = [1024, 4096, 7168, 10240, 13312]
        self.assertEqual([(int(row["size"]), row["wrong"]) for row in run.rows("collective")], [(s, "0") for s in sizes])
        self.assertIn("5 sizes of 1 + 2 calls", process.stdout)
        _, run = self.measure("all_reduce", *arguments, "-c", "0", out="unchecked")
        self.assertEqual({row["wrong"] for row in run.rows("collective")}, {""})

    def test_ranks_of_a_host_meet_within_it(self):
        # Two hosts of two ranks, as two processes of `-g 2`: of the ring's four hops two cross the wire, each with 2 x 3/4 of
        # the size and call; and all four without.
        wires = []
        for number, more in enumerate((("-g", "2"), ())):
            _, run = self.measure("all_reduce", "--ranks", RANKS, *SMALL, "--twin", *more, out=f"run{number}")
            wires.append((run.summary["bytes_wire"], run.summary["bytes_local"]))
        self.assertEqual(wires[0], (wires[1][0] // 2, wires[1][0] // 2))
        self.assertEqual(wires[1][1], 0)

    def test_times_of_one_rank_or_of_all(self):
        # The same run in virtual time: only which ranks the times are of is another.
        rows = {}
        for number in range(4):
            _, run = self.measure("broadcast", *SMALL, "--check", "--twin", "-a", str(number), out=f"average{number}")
            rows[number] = run.rows("collective")
            self.assertEqual({row["average"] for row in rows[number]}, {("rank0", "mean", "min", "max")[number]})
        for rank0, mean, least, most in zip(*rows.values()):
            times = [int(row["time_ps"]) for row in (rank0, mean, least, most)]
            self.assertLessEqual(times[2], min(times[:2]))
            self.assertGreaterEqual(times[3], max(times[:2]))
            # The root has less to do than those that wait for the end of the chain.
            self.assertLess(times[2], times[3])
            self.assertEqual(len({row["p99_ps"] for row in (rank0, mean, least, most)}), 1)
            self.assertEqual({row["wrong"] for row in (rank0, mean, least, most)}, {"0"})

    def test_the_reference_has_acknowledgements(self):
        # Messages of one packet at most. In each step a rank's message waits for the acknowledgement of the one before it,
        # and the last for its own, which passes two hops: 86 B with everything, 688 ns at 1 Gb/s, at each. Packets take as
        # long, but for what the members of the ensemble differ by.
        for operation in ("all_reduce", "all_gather", "sendrecv", "reduce_scatter"):
            with self.subTest(operation=operation):
                _, run = self.measure(operation, "-b", "256", "-e", "1K", "-n", "2", "--twin", out=operation)
                table = run.summary["collective"]
                self.assertIsNone(table["wrong_messages"])
                for row in table["sizes"]:
                    self.assertAlmostEqual(row["ratio"], 1, delta=0.002)
                    if row["band_low_ps"] is not None:
                        self.assertLessEqual(row["band_low_ps"], row["band_high_ps"])
                self.assertEqual([row["band_low_ps"] is None for row in table["sizes"]], [operation == "sendrecv"] * 3)

    def test_the_reference_alone_touches_no_device(self):
        process, run = self.measure("broadcast", *SMALL, "--no-run", "--ports", "a=0000:ff:1f.7,b=0000:ff:1f.6",
                                    "--rate", "100Gbps")
        self.assertIn("over iterations and ranks, in the reference", process.stdout)
        self.assertTrue(all(row["side"] == "reference" and row["wrong"] == "" for row in run.rows("collective")))
        self.assertEqual(run.summary["collective"]["ranks"], 2)

    def test_a_configuration_gives_ports_and_all_else(self):
        config = {"workload": {"generate": {"kind": "collective", "collective": {"operation": "reduce", "ranks": 4, "max":
                  "64B", "iterations": 2}}}, "ports": {"count": 2, "device": "memory", "rate": "10Gbps"}}
        path = self.configuration(config, "lab.yaml")
        _, run = self.measure("all_gather", "--config", path, "--twin", "-e", "256", "--barrier")
        self.assertEqual([row["size"] for row in run.rows("collective")], ["64", "128", "256"])
        self.assertEqual({row["calls"] for row in run.rows("collective")}, {"8"})
        # Without the verb, too: 8, 16, 32 and 64 B.
        run = self.call("simulate", path, out="simulated")
        self.assertEqual([row["operation"] for row in run.rows("collective")], ["reduce"] * 4)

    def test_what_was_measured_stays_when_it_is_interrupted(self):
        folder = self.folder / "run"
        with start("collective", "all_reduce", "--out", folder, "-b", "64K", "-e", "64K", "-n", "20000") as process:
            self.assertGreater(wait_for_operations(process, folder), 0)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, FAILED, output + errors)
        self.assertRegex(output, r"\n +65536 +16384 ")
        self.assertIn("interrupted", output)
        calls = int(Run(folder).rows("collective")[0]["calls"])
        self.assertTrue(0 < calls < 20000 * RANKS, calls)

    def test_a_size_of_which_not_all_calls_ended_is_marked(self):
        # 2 x 3/4 x 64 KiB at 1 Gb/s are 786 us, by 10,000 calls 7.9 s.
        process, run = self.measure("all_reduce", "-b", "64K", "-e", "128K", "-n", "10000", "--set", "run.deadline=2s",
                                    status=FAILED)
        output = process.stdout
        self.assertRegex(output, r"\n +65536 .*\*\n")
        self.assertIn("# Sizes (*) of which not all calls ended : 1 of 1\n", output)
        table = run.summary["collective"]
        self.assertEqual(table["average_busbw_GBps"], table["sizes"][0]["emulated"]["busbw_GBps"])

    def test_what_connections_that_failed_share_is_beneath_the_table(self):
        config = self.configuration({
            "hosts": {"count": 2, "npus": 1},
            "ports": [{"device": f"net_null{i}", "rate": "1Gbps"} for i in range(2)],
            "transport": {"resolve_deadline": "100ms", "resolve_interval": "20ms"},
        })
        process, _ = self.measure("all_reduce", "-b", "64K", "-e", "64K", "--config", config, status=FAILED)
        self.assertRegex(process.stdout, r"\n# Verdict              : failed: 2 of 2 connections failed; .*no answer to ARP"
                                         r".*\n# Found                : 2 connections failed")

    def test_the_table_says_that_the_generator_set_the_pace(self):
        # Four ports at 400 Gb/s ask for 48 M packets a second of one core, which mostly shows.
        process, run = self.measure("all_reduce", "-b", "4M", "-e", "4M", "-n", "20", "--rate", "400Gbps")
        fidelity = run.summary["fidelity"]
        self.assertEqual(f"\n# Fidelity             : {fidelity}: the generator " in process.stdout, fidelity != "ok")
        process, _ = self.measure("all_reduce", *SMALL, "--twin", out="twin")
        self.assertNotIn("Fidelity", process.stdout)

    def test_a_cluster_is_read_once(self):
        text = ("# Collective test starting: all_gather_perf\n#  size count type redop root time algbw busbw #wrong\n"
                "16384 1024 float none -1 9.99 0 0 0\n")
        _, run = self.measure("all_gather", "-b", "16K", "-e", "16K", "--twin")
        for verb in (("collective", "all_gather", "-b", "16K", "-e", "16K", "--twin", "--out", self.folder / "piped",
                      "--against", "/dev/stdin"), ("compare", run.folder, "/dev/stdin")):
            with self.subTest(verb=verb[0]):
                process = subprocess.run([BINARY, *map(str, verb)], input=text, capture_output=True, text=True, check=False)
                self.assertEqual(process.returncode, OK, process.stderr)
                self.assertRegex(process.stdout, r"\n +16384 .* 9\.990 ")
        process = rankwire("compare", run.folder, self.folder / "absent")
        self.assert_one_line_error(process, USAGE, "absent: is neither a run folder nor a file")

    def test_a_cluster_stands_beside_it(self):
        # The cluster takes as long as the twin of 16 KiB, and twice as long as that of 64 KiB.
        arguments = ("-b", "16K", "-e", "64K", "-f", "4", "-n", "2", "--twin")
        _, run = self.measure("all_gather", *arguments)
        times = [int(row["time_ps"]) / 1e6 * factor for row, factor in zip(run.rows("collective"), (1, 2))]
        lines = "".join(f"{size:12} {size // 16:12}     float    none      -1 {time:8.2f}   0.00   0.00      0 9.99 0 0 0\n"
                        for size, time in zip((16384, 65536), times))
        text = self.folder / "cluster.txt"
        text.write_text("# Collective test starting: all_gather_perf\n#  size count type redop root time algbw busbw "
                        "#wrong time algbw busbw #wrong\n" + lines, encoding="utf-8")
        process = rankwire("compare", run.folder, text)
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertRegex(process.stdout, r"\n +16384 .* 1\.000 ")
        self.assertRegex(process.stdout, r"\n +65536 .* 0\.500\*")
        results = [{"size": size, "count": size // 16, "type": "float", "redop": "none", "root": "-1",
                    "out_of_place": {"time": time, "alg_bw": 0.1, "bus_bw": 0.1, "nwrong": 0}, "in_place": None}
                   for size, time in zip((16384, 65536), times)]
        path = self.folder / "cluster.json"
        path.write_text(json.dumps({"version": 3, "args": ["all_gather_perf"], "results": results}), encoding="utf-8")
        process, _ = self.measure("all_gather", *arguments, "--against", path, "--json", out="against")
        page = (self.folder / "against" / "report.html").read_text(encoding="utf-8")
        self.assertEqual(len(re.findall(r">cluster [\d.]+</text>", page)), 2, "a curve in each chart")
        self.assertRegex(page, r"0\.500\*</td>")
        summary = json.loads(process.stdout)
        self.assertEqual(schema_errors("summary", summary), [])
        cluster = summary["cluster"]
        self.assertEqual([row["deviates"] for row in cluster["sizes"]], [False, True])
        self.assertAlmostEqual(cluster["sizes"][1]["emulated_ratio"], 0.5, delta=1e-3)
        self.assertEqual(cluster["deviating"], 1)
        half = self.folder / "half.txt"
        half.write_text(text.read_text(encoding="utf-8").replace(" float", " half").replace(" 0 9.99", " 3 9.99"),
                        encoding="utf-8")  # fmt: skip
        process = rankwire("compare", run.folder, half)
        self.assert_one_line_error(process, USAGE, "measured half none, this run float none; --unlike compares")
        process = rankwire("compare", run.folder, half, "--unlike")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertIn("6 wrong values", process.stdout)  # 3 of each of two sizes
        text.write_text(text.read_text(encoding="utf-8") + " 262144 16384 float\n", encoding="utf-8")
        self.assert_one_line_error(rankwire("compare", run.folder, text), USAGE, f"{text}:5: has 3 columns")
        process = rankwire("collective", "all_reduce", "--against", path, "--no-run", "--out", self.folder / "other")
        self.assert_one_line_error(process, USAGE, "is of all_gather, but the run measured all_reduce")

    def test_a_replay_lists_kernels_beside_a_base(self):
        _, run = self.measure("all_gather", *SMALL, "--twin")
        process = rankwire("report", run.folder, "--format", "replay")
        self.assertRegex(process.stdout, rf"\nall_gather +1024 +4 +{3 * RANKS} .* \(-\) +-\n")  # of those that count
        # Two barriers between three sizes, and one after each that warms up.
        self.assertRegex(process.stdout, rf"\nbarrier +0 +4 +{5 * RANKS} ")
        kept = (run.folder / "replay.csv").rename(self.folder / "kept.csv")
        for base in (kept, run.folder):
            process = rankwire("report", run.folder, "--format", "replay", "--base", base)
            self.assertEqual(process.returncode, OK, process.stderr)
            self.assertEqual({row["ratio"] for row in run.rows("replay")}, {"1"})
        self.assert_one_line_error(rankwire("report", run.folder, "--base", kept), USAGE, "--base: is for")

    def test_wrong_arguments_are_one_line(self):
        for arguments, texts in (
            (["all_reduc"], ["did you mean 'all_reduce'?"]),
            (["all_reduce", "-b", "2K", "-e", "1K"], ["--min: 2048 B is above --max, 1024 B"]),
            (["all_reduce", "-b", "6"], ["6 B", "whole number of elements"]),
            (["all_reduce", "-f", "1"], ["--factor: 1 is not 2 or more"]),
            (["all_reduce", "--ranks", "1"], ["--ranks: 1 is not 2 or more"]),
            (["all_reduce", "-n", "0"], ["--iterations: 0 is not 1 or more"]),
            (["all_reduce", "-a", "4"], ["--average: 4 is none of 0"]),
            (["all_gather", "--ranks", "8", "-e", "64"], ["must be at least 128 B"]),
            (["hypercube", "--ranks", "6"], ["--ranks 6: 6 is not a power of two"]),
            (["reduce", "-r", "4"], ["--root 4: ", "0 to 3"]),
            (["all_reduce", "-d", "quad"], ["--datatype: there is no 'quad'"]),
            (["all_reduce", "-b", "1X"], ["--min", "write for example"]),
            (["all_reduce", "--algorithm", "pat"], ["--algorithm pat: 'pat' is not one of"]),
            (["sendrecv", "--algorithm", "ring"], ["--algorithm"]),
            (["all_reduce", "-f", "2", "-i", "1M"], ["only one of them is meant"]),
            (["all_reduce", "-i", "1", "-e", "1M"], ["--stepbytes 1: ", "a series has at most 65536"]),
            (["all_reduce", "--ranks", "6", "-g", "4"], ["--ranks: 6 are no two hosts or more of 4 ranks"]),
            (["all_reduce", "-b", "4G", "-e", "4G"], ["need --force", "600 GiB"]),
            (["all_reduce", "--prots", "a=ring"], ["did you mean '--ports'?"]),
        ):
            with self.subTest(arguments=arguments):
                self.assert_one_line_error(rankwire("collective", *arguments, "--out", self.folder / "no"), USAGE, *texts)

    def test_help_has_an_example(self):
        process = rankwire("collective", "--help")
        self.assertEqual(process.returncode, OK)
        self.assertTrue(re.search(r"Example: rankwire collective all_reduce", process.stdout))


if __name__ == "__main__":
    unittest.main()

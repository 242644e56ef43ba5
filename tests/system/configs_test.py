"""Every configuration that comes with the program is valid, and the quickstart does what its comment promises."""

import json
import unittest

import corpus
from rankwire import OK, SOURCE, RankwireTest, rankwire

COMMUNICATION = {"send", "receive", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"}


class Configurations(RankwireTest):
    def test_every_configuration_passes_check(self):
        paths = sorted((SOURCE / "configs").rglob("*.yaml"))
        self.assertTrue(paths)
        # Those for public traces are run with them in corpus_test.py, studies in study_test.py.
        for path in (path for path in paths if path.name not in corpus.CONFIGS):
            text = path.read_text(encoding="utf-8")
            if "\nfigures:" in text:
                continue
            with self.subTest(path=path.name):
                if "\nbase:" in text:  # a suite of benchmarks
                    process = rankwire("bmwg", "plan", path, "--json")
                    self.assertEqual((process.returncode, process.stderr), (OK, ""))
                    self.assertGreater(json.loads(process.stdout)["seconds"], 0)
                elif "\nports:" in text:
                    process = rankwire("check", path, "--json", "--no-measure")
                    self.assertEqual((process.returncode, process.stderr), (OK, ""))
                    self.assertGreater(json.loads(process.stdout)["bytes_wire_per_iteration"], 0)
                else:
                    process = rankwire("trace", "generate", path, "--out", self.folder / path.stem)
                    self.assertEqual((process.returncode, process.stderr), (OK, ""))

    def test_quickstart(self):
        run = self.call("run", SOURCE / "configs/quickstart.yaml")
        self.assert_delivered(run)
        # The comment in the file derives the bytes and the operations.
        self.assertEqual(run.summary["bytes_wire"], 2_809_135_104)
        rows = [row for row in run.rows("operations") if row["kind"] in COMMUNICATION]
        self.assertEqual(len(rows), 8 * (32 + 32 + 1 + 32 + 32) + 8)
        self.assertGreaterEqual(len({row["kind"] for row in rows}), 4)
        for row in rows:
            self.assertGreaterEqual(int(row["emulated_end_ps"]), int(row["emulated_start_ps"]))
            self.assertGreaterEqual(int(row["reference_end_ps"]), int(row["reference_start_ps"]))
        print(f"quickstart: ratio {run.summary['ratio']:.3f}, fidelity {run.summary['fidelity']}")

    def test_networks_of_npus(self):
        for name in ("torus", "hierarchy"):
            with self.subTest(name=name):
                run = self.call("run", SOURCE / f"configs/{name}.yaml", out=name)
                self.assert_delivered(run)
                print(f"{name}: ratio {run.summary['ratio']:.3f}, fidelity {run.summary['fidelity']}")

    def test_impairments(self):
        run = self.call("run", SOURCE / "configs/impairments.yaml")
        summary = run.summary
        self.assertEqual(summary["transport"]["messages_delivered"], summary["messages"])
        # The counts that do not follow from chance: one packet, one tail, five ICRCs; one acknowledgement.
        done = [rule["done"] for rule in summary["impairments"]["rules"]]
        self.assertEqual(done[:3] + done[4:], [1, 1, 5, 1])
        self.assertEqual(summary["transport"]["icrc_errors"], 5)
        self.assertEqual(len(run.rows("impairments", action="mark_ce")), done[3])


if __name__ == "__main__":
    unittest.main()

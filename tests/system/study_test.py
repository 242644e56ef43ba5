"""Studies: many simulations from one file, drawn as figures; and the study of Chakra's paper with what it states."""

import csv
import json
import math
import unittest

from rankwire import FAILED, OK, SOURCE, USAGE, RankwireTest, rankwire, transformer

STUDIES = SOURCE / "configs/studies"
MODELS = ("MLP-MP", "MLP-DP-MP", "MLP-MP-DP", "DLRM", "Transformer")
NPUS = ("4", "16", "64")


class Study(RankwireTest):
    def study(self, path, *arguments, status=OK):
        """Every point's reference, by figure, group and point."""
        process = rankwire("study", path, "--out", self.folder / "study", "--json", *arguments)
        self.assertEqual(process.returncode, status, process.stderr)
        return self.points(json.loads(process.stdout))

    def points(self, study):
        return {
            (figure["name"], point["group"], point["point"]): point["runs"][-1] if point["runs"] else point
            for figure in study["figures"]
            for point in figure["points"]
        }


class Chakra(Study):
    """Section 6.2 of the paper; docs/studies.md says what it leaves open. Times are virtual, so they are always the same."""

    def test_more_npus(self):
        points = self.study(STUDIES / "chakra.yaml", "--figure", "npus_torus", "--figure", "npus_dgx2")

        def run(network, model, npus):
            return points[f"npus_{network}", model, npus]

        def time(*which):
            return run(*which)["completion_time_ps"]

        # The transformer on the torus keeps improving; on 4 NPUs it computes 25 times as long as it communicates.
        self.assertGreater(time("torus", "Transformer", "4"), time("torus", "Transformer", "16"))
        self.assertGreater(time("torus", "Transformer", "16"), time("torus", "Transformer", "64"))
        few = run("torus", "Transformer", "4")
        self.assertAlmostEqual(few["compute_ps"] / few["communication_ps"], 25, delta=25 * 0.03)
        for network in ("torus", "dgx2"):
            # MLP-MP is more and more communication that nothing hides, until more NPUs make it slower.
            shares = [run(network, "MLP-MP", npus)["exposed_communication_ps"] / run(network, "MLP-MP", npus)["compute_ps"]
                      for npus in NPUS]
            self.assertEqual(shares, sorted(shares))
            self.assertGreater(shares[-1], 10)
            self.assertEqual(shares[-1], max(run(network, model, "64")["exposed_communication_ps"] /
                                             run(network, model, "64")["compute_ps"] for model in MODELS))
            self.assertGreater(time(network, "MLP-MP", "64"), time(network, "MLP-MP", "4"))
        # The torus is generally faster: for most models and sizes, and over all of them.
        ratios = [time("dgx2", model, npus) / time("torus", model, npus) for model in MODELS for npus in NPUS]
        self.assertGreater(sum(ratio > 1 for ratio in ratios), 10)
        self.assertGreater(math.prod(ratios) ** (1 / len(ratios)), 1.05)

    def test_bandwidth(self):
        models = ("MLP-MP", "DLRM", "Transformer")
        points = self.study(STUDIES / "chakra.yaml", "--figure", "bandwidth_torus", "--figure", "bandwidth_dgx2",
                            *(part for model in models for part in ("--group", model)))
        for figure, low, high in (("bandwidth_torus", "31", "128"), ("bandwidth_dgx2", "150 / 18.75", "600 / 75")):
            gain = {model: points[figure, model, low]["completion_time_ps"] /
                    points[figure, model, high]["completion_time_ps"] for model in models}
            self.assertGreater(gain["MLP-MP"], max(gain["DLRM"], gain["Transformer"]))
        lowest = points["bandwidth_dgx2", "MLP-MP", "150 / 18.75"]
        self.assertAlmostEqual(lowest["exposed_communication_ps"] / lowest["compute_ps"], 128, delta=128 * 0.03)


class Mixtral(Study):
    def test_networks(self):
        points = self.study(STUDIES / "mixtral.yaml", "--figure", "networks", "--group", "experts 8", "--group", "tensor 8")
        times = {key[1:]: run["completion_time_ps"] for key, run in points.items()}
        for parallelism in ("experts 8", "tensor 8"):
            own = {network: time for (group, network), time in times.items() if group == parallelism}
            self.assertEqual(min(own, key=own.get), "NVSwitch 450 GB/s")
            # Whatever the network, all-to-all of two experts' tokens is less than two all-reduces a layer.
            for network, time in own.items():
                self.assertGreaterEqual(times["tensor 8", network], times["experts 8", network])


class Format(Study):
    CONFIG = {
        "workload": {"generate": transformer(layers=2, pipeline_parallel=1)},
        "ports": {"count": 4, "device": "memory", "rate": "1Gbps"},
    }

    def write(self, **changes):
        self.configuration(self.CONFIG, "base.yaml")
        points = [{"label": "slow"}, {"label": "fast", "set": {"ports.rate": "4Gbps"}}]
        figures = [
            {"name": "a", "title": "A & B", "axes": ["chunk", "rate"], "points": points, "groups": [
                {"label": "large", "set": [{"seed": 7}, {"collectives.chunk": "1MiB"}]},
                {"label": "small", "set": {"seed": 7, "collectives.chunk": "16KiB"}}]},
            {"name": "b", "title": "B", "form": "lines", "axes": ["chunk", "rate"], "set": {"seed": 7}, "groups": [
                {"label": "large", "set": {"collectives.chunk": "1MiB"}, "points": points}]},
        ]
        return self.configuration({"name": "s", "title": "T", "config": "base.yaml", "figures": figures} | changes,
                                  "study.yaml")

    def test_each_point_is_what_a_run_of_its_own_is(self):
        points = self.study(self.write(), "--twin")
        self.assertEqual(len(points), 6)
        alone = self.call("simulate", self.CONFIG, "--set", "seed=7", "--set", "collectives.chunk=16KiB", "--set",
                          "ports.rate=4Gbps", out="alone").summary
        small = points["a", "small", "fast"]
        self.assertEqual(small["run"], "reference")
        self.assertEqual(small["completion_time_ps"], alone["reference"]["completion_time_ps"])
        self.assertLessEqual(small["exposed_communication_ps"], small["communication_ps"])
        # What two figures have alike is simulated once.
        self.assertEqual(points["b", "large", "fast"], points["a", "large", "fast"])
        folders = {path.name for path in (self.folder / "study").iterdir() if path.is_dir()}
        self.assertEqual(folders, {"point-1", "point-2", "point-3", "point-4"})
        with open(self.folder / "study" / "study.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["figure"], row["group"], row["point"], row["run"]) for row in rows[:3]],
                         [("a", "large", "slow", "twin"), ("a", "large", "slow", "reference"),
                          ("a", "large", "fast", "twin")])
        page = (self.folder / "study" / "study.html").read_text(encoding="utf-8")
        self.assertIn("A &amp; B", page)
        self.assertEqual(page.count("<polyline"), 2)

    def test_parts_of_it(self):
        points = self.study(self.write(), "--figure", "a", "--group", "small", "--set", "ports.rate=2Gbps")
        self.assertEqual(list(points), [("a", "small", "slow"), ("a", "small", "fast")])
        self.assertEqual(len({run["completion_time_ps"] for run in points.values()}), 1)
        self.assert_one_line_error(rankwire("study", self.write(), "--figure", "c"), USAGE, "no figure 'c'")
        self.assert_one_line_error(rankwire("study", self.write(), "--group", "c"), USAGE, "no group 'c'")

    def test_what_is_wrong_is_said_before_anything_runs(self):
        path = self.write(set={"ports.rate": "1Gbs"})
        self.assert_one_line_error(rankwire("study", path, "--out", self.folder / "study"), USAGE, "1Gbs", "study.yaml:")
        self.assertFalse((self.folder / "study").exists())

    def test_a_point_that_fails_leaves_the_others(self):
        path = self.write()
        points = self.study(path, "--figure", "b", "--set", "run.deadline=1us", status=FAILED)
        self.assertEqual({run["verdict"] for run in points.values()}, {"failed"})


if __name__ == "__main__":
    unittest.main()

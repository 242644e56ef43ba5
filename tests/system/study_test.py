"""Studies: many simulations from one file, drawn as figures; and the study of Chakra's paper with what it states."""

import csv
import json
import math
import unittest

from rankwire import FAILED, OK, SOURCE, USAGE, RankwireTest, rankwire, transformer

STUDIES = SOURCE / "configs/studies"
MODELS = ("MLP-MP", "MLP-DP-MP", "MLP-MP-DP", "DLRM", "Transformer")
NPUS = ("4", "16", "64")


def text_of(picoseconds):
    """As in reports: the largest unit that leaves at least 1, four digits."""
    for unit, size in (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
        if picoseconds >= size:
            return f"{picoseconds / size:.4g} {unit}"
    return f"{picoseconds} ps"


def exposed_over_compute(run):
    return run["exposed_communication_ps"] / run["compute_ps"]


class Study(RankwireTest):
    def study(self, path, *arguments, status=OK):
        """Every point's reference, by figure, group and point."""
        process = rankwire("study", path, "--out", self.folder / "study", "--json", *arguments)
        self.assertEqual(process.returncode, status, process.stderr)
        return self.points(json.loads(process.stdout))

    def table(self, first_cell, *columns):
        """The rows of the table of docs/studies.md with this head, by their first cells."""
        lines = (SOURCE / "docs/studies.md").read_text(encoding="utf-8").splitlines()
        at = lines.index(f"| {' | '.join([first_cell, *columns])} |") + 2
        rows = {}
        while at < len(lines) and lines[at].startswith("|"):
            name, *cells = [cell.strip() for cell in lines[at].strip("|").split("|")]
            rows[name] = cells
            at += 1
        return rows

    def assert_documented(self, rows, expected):
        """What the tables of docs/studies.md say is what comes of the configurations."""
        self.assertEqual(list(rows), list(expected))
        for name, cells in expected.items():
            with self.subTest(row=name):
                self.assertEqual(rows[name], cells, f"docs/studies.md should say | {name} | {' | '.join(cells)} |")

    def points(self, study):
        return {
            (figure["name"], point["group"], point["point"]): point["runs"][-1] if point["runs"] else point
            for figure in study["figures"]
            for point in figure["points"]
        }


class Chakra(Study):
    """Section 6.2 of the paper; docs/studies.md says what it leaves open. Times are virtual, so they are always the same,
    and its tests look at one study."""

    whole = None

    def setUp(self):
        super().setUp()
        if Chakra.whole is None:
            Chakra.whole = self.study(STUDIES / "chakra.yaml")

    def test_more_npus(self):
        def run(network, model, npus):
            return self.whole[f"npus_{network}", model, npus]

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
        points = self.whole
        for figure, low, high in (("bandwidth_torus", "31", "128"), ("bandwidth_dgx2", "150 / 18.75", "600 / 75")):
            gain = {model: points[figure, model, low]["completion_time_ps"] /
                    points[figure, model, high]["completion_time_ps"] for model in models}
            self.assertGreater(gain["MLP-MP"], max(gain["DLRM"], gain["Transformer"]))
        lowest = points["bandwidth_dgx2", "MLP-MP", "150 / 18.75"]
        self.assertAlmostEqual(exposed_over_compute(lowest), 128, delta=128 * 0.03)

    def test_tables(self):
        points = self.whole

        def time(figure, model, point):
            return points[figure, model, point]["completion_time_ps"]

        networks = ("npus_torus", "npus_dgx2")
        self.assert_documented(self.table("model", "torus 4", "16", "64", "hierarchy 4", "16", "64"), {
            model: [f"{text_of(time(network, model, npus))}, {exposed_over_compute(points[network, model, npus]):.3g}"
                    for network in networks for npus in NPUS] for model in MODELS})
        sweeps = {"bandwidth_torus": ("31", "62", "128"), "bandwidth_dgx2": ("150 / 18.75", "300 / 37.5", "600 / 75")}
        self.assert_documented(
            self.table("model", "torus 31", "62", "128", "hierarchy 150 / 18.75", "300 / 37.5", "600 / 75"),
            {model: [text_of(time(figure, model, point)) for figure, of_figure in sweeps.items() for point in of_figure]
             for model in MODELS})

        mp = [[f"{exposed_over_compute(points[network, 'MLP-MP', npus]):.3g}" for npus in NPUS] for network in networks]
        gains = [sorted(((time(figure, model, point[0]) / time(figure, model, point[-1]), model) for model in MODELS),
                        reverse=True) for figure, point in sweeps.items()]
        self.assertEqual([gain[0][1] for gain in gains], ["MLP-MP", "MLP-MP"])
        lowest = [exposed_over_compute(points[figure, "MLP-MP", point[0]]) for figure, point in sweeps.items()]
        few = points["npus_torus", "Transformer", "4"]
        ratios = [time("npus_dgx2", model, npus) / time("npus_torus", model, npus) for model in MODELS for npus in NPUS]
        self.assert_documented(self.table("stated", "here"), {stated: [here] for stated, here in {
            "the transformer on the torus keeps improving with NPUs":
                ", ".join(text_of(time("npus_torus", "Transformer", npus)) for npus in NPUS),
            "its compute is 25 times its communication at 4 NPUs":
                f"{few['compute_ps'] / few['communication_ps']:.2f} times",
            "MLP-MP becomes dominated by exposed communication":
                f"{', '.join(mp[0])} times its compute on the torus, {', '.join(mp[1])} on the hierarchy; so it is slower "
                "with 64 NPUs than with 4",
            "MLP-MP is the most sensitive to bandwidth":
                f"from the lowest to the highest it becomes {gains[0][0][0]:.2f} times as fast on the torus and "
                f"{gains[1][0][0]:.2f} on the hierarchy, the next model {gains[0][1][0]:.2f} and {gains[1][1][0]:.2f}",
            "at the lowest bandwidths its exposed communication is 128 times its compute":
                f"{lowest[1]:.1f} times with 150 and 18.75 GB/s; {lowest[0]:.1f} on the torus with 31 GB/s",
            "the torus is generally faster":
                f"for {sum(ratio > 1 for ratio in ratios)} of the {len(ratios)} pairs of model and size; the hierarchy "
                f"takes {math.prod(ratios) ** (1 / len(ratios)):.2f} times as long in the geometric mean",
        }.items()})


class Mixtral(Study):
    PARALLELISMS = ("experts 8", "experts 4 x data 2", "experts 4 x tensor 2", "tensor 8")

    def test_networks(self):
        points = self.study(STUDIES / "mixtral.yaml", "--figure", "networks")
        times = {key[1:]: run["completion_time_ps"] for key, run in points.items()}
        for parallelism in ("experts 8", "tensor 8"):
            own = {network: time for (group, network), time in times.items() if group == parallelism}
            self.assertEqual(min(own, key=own.get), "NVSwitch 450 GB/s")
            # Whatever the network, all-to-all of two experts' tokens is less than two all-reduces a layer.
            for network, time in own.items():
                self.assertGreaterEqual(times["tensor 8", network], times["experts 8", network])
        expected = {}
        for (_, parallelism, network), run in points.items():
            cells = expected.setdefault(network, [""] * len(self.PARALLELISMS))
            cells[self.PARALLELISMS.index(parallelism)] = (
                f"{run['completion_time_ps'] / 1e9:.1f} ({run['exposed_communication_ps'] / 1e9:.1f})")
        self.assert_documented(self.table("network", *self.PARALLELISMS), expected)


class Overlap(Study):
    def test_interference_by_shared_spine_links(self):
        points = self.study(STUDIES / "overlap.yaml")
        shares = ("0 %", "25 %", "50 %", "75 %")
        times = {key[1:]: run["completion_time_ps"] for key, run in points.items()}
        expected = {}
        for job in ("data parallel", "experts", "pipeline"):
            alone = times[job, "0 %"]
            factors = [times[job, share] / alone for share in shares]
            # Half of a link at worst, and nothing but links is shared.
            self.assertTrue(all(1 < factor <= 2 for factor in factors[1:]), factors)
            expected[job] = [text_of(alone)] + [f"{text_of(times[job, share])} ({times[job, share] / alone:.3f})"
                                                for share in shares[1:]]
        self.assert_documented(self.table("job", *shares), expected)


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

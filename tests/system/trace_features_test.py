"""What `rankwire trace inspect`, `draw`, `select` and `scale` say of one small set, every figure derived by hand.

Prints a table. Two ranks; a byte takes 1 ns (8 Gb/s), so the set runs like this, in microseconds (AR: 4096 bytes in group
"tp"; AG: 1000 bytes of all; S, R: 100 bytes):

    rank 0   first 0 to 10, second 10 to 20            AR 10 to 14.096   AG 20 to 21   S 21 to 21.1
    rank 1   first 0 to  5, second  5 to 15            AR 10 to 14.096   AG 20 to 21   R at 21.1

The tensor "a" of 50 bytes lives from the first to the second node, the weights of 100 bytes from the beginning to the second
node, "b" of 30 bytes from the second node to the end.
"""

import json
import re
import unittest
import xml.etree.ElementTree

import chakra
from rankwire import OK, RankwireTest, rankwire

MICROSECOND = 10**6  # in ps
RATE = ("--rate", "8Gbps")
SVG = "{http://www.w3.org/2000/svg}"
MANY = 10_000


def ranks():
    def nodes(micros, end):
        first = chakra.Node(1, "layer0.gemm", duration_us=micros, attributes={"outputs": ["a", "50.0"]})
        second = chakra.Node(3, "layer1.gemm", dependencies=[1], duration_us=10)
        second.attributes = {"inputs": ["a", "50.0", "weights", "100.0"], "outputs": ["b", "30.0"]}
        return [
            first,
            chakra.collective(chakra.ALL_REDUCE, 4096, 2, [1], "reduce", group="tp"),
            second,
            chakra.collective(chakra.ALL_GATHER, 1000, 4, [3], "gather"),
            end,
        ]

    send = chakra.Node(5, "out", chakra.SEND, [4], attributes={"comm_dst": 1, "comm_size": 100})
    receive = chakra.Node(5, "in", chakra.RECEIVE, [4], attributes={"comm_src": 0, "comm_size": 100})
    return [nodes(10, send), nodes(5, receive)]


class Features(RankwireTest):
    def setUp(self):
        super().setUp()
        self.prefix = self.folder / "w"
        chakra.write_ranks(self.prefix, ranks())
        self.prefix.with_suffix(".json").write_text('{"tp": [0, 1]}', encoding="utf-8")

    def trace(self, verb, *arguments, status=OK):
        process = rankwire("trace", verb, *arguments, "--json")
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return json.loads(process.stdout)

    def row(self, verb, feature, figures):
        print(f"{verb:<8} | {feature:<24} | {figures}")

    def picture(self, path):
        """The texts of a picture and the attributes of its bars; those of a height of 10 are the legend's."""
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, f"{SVG}svg")
        bars = [bar.attrib for bar in root.iter(f"{SVG}rect") if "class" in bar.attrib and bar.get("height") != "10"]
        return [element.text for element in root.iter(f"{SVG}text") if element.text], bars

    def test_inspect(self):
        pictures = self.folder / "pictures"
        (report,) = self.trace("inspect", self.prefix, *RATE, "--pictures", pictures)["sets"]
        print()
        counts = {kind: (tally["nodes"], tally["bytes"]) for kind, tally in report["kinds"].items()}
        self.assertEqual(counts, {"compute": (4, 0), "all_reduce": (2, 8192), "all_gather": (2, 2000),
                                  "send": (1, 100), "receive": (1, 100)})
        self.assertEqual((report["nodes"], report["dependencies"]), (10, 8))
        self.row("inspect", "counts, bytes by kind", counts)

        groups = [(g["group"], g["kind"], g["nodes"], g["bytes"]) for g in report["groups"]]
        self.assertEqual(sorted(groups), [("all", "all_gather", 2, 2000), ("tp", "all_reduce", 2, 8192)])
        self.row("inspect", "bytes by group", groups)

        # Classes of four times the size before: 64, 256, 1024, 4096.
        sizes = {(s["kind"], s["from_bytes"]): (s["nodes"], s["bytes"]) for s in report["sizes"]}
        self.assertEqual(sizes, {("all_reduce", 4096): (2, 8192), ("all_gather", 256): (2, 2000),
                                 ("send", 64): (1, 100), ("receive", 64): (1, 100)})
        self.row("inspect", "bytes by size class", sizes)

        by_rank = [(r["collective_bytes"], r["sent_bytes"], r["received_bytes"]) for r in report["ranks"]]
        self.assertEqual(by_rank, [(5096, 100, 0), (5096, 0, 100)])
        self.assertAlmostEqual(report["imbalance"], 5196 / 5146)
        self.row("inspect", "imbalance", f"{by_rank}, largest {report['imbalance']:.4f} of the mean")
        # What the two ranks have in collectives, what one sends and the other receives, as high as it is much.
        _, bars = self.picture(pictures / "w.traffic.svg")
        heights = [round(float(bar["height"]) / float(bars[0]["height"]) * 5096) for bar in bars]
        self.assertEqual(heights, [5096, 100, 5096, 100])
        self.row("inspect", "imbalance, picture", f"bars of {heights}")

        # Rank 0 communicates for 4.096 + 1 + 0.1 us, and computes beside the first of these. So does rank 1, which receives
        # when all is sent.
        times = [(r["compute_ps"], r["communication_ps"], r["exposed_ps"]) for r in report["ranks"]]
        self.assertEqual(times, [(20 * MICROSECOND, 5_196_000, 1_100_000), (15 * MICROSECOND, 5_096_000, 1_000_000)])
        self.row("inspect", "overlap", f"compute, communication, exposed: {times} ps")

        path = report["critical_path"]
        steps = [(step["rank"], step["node"]) for step in path["nodes"]]
        self.assertEqual(steps, [(0, 1), (0, 3), (0, 4), (0, 5)])
        self.assertEqual(path["kinds_ps"], {"compute": 20 * MICROSECOND, "all_gather": MICROSECOND, "send": 100_000})
        self.assertEqual(report["end_ps"], 21_100_000)
        self.row("inspect", "critical path", f"{steps} of {report['end_ps']} ps")

        memory = [(r["memory"]["tensors"], r["memory"]["peak_bytes"]) for r in report["ranks"]]
        self.assertEqual(memory, [(3, 180), (3, 180)])
        texts, _ = self.picture(pictures / "w.memory.svg")
        self.row("inspect", "memory", f"tensors, peak: {memory}; picture: {', '.join(texts)}")

    def test_draw(self):
        print()
        made = self.trace("draw", self.prefix, "--rank", 1, "--out", self.folder / "small", *RATE)
        self.assertEqual((made["vertices"], made["edges"]), (5, 4))
        texts, bars = self.picture(self.folder / "small.timeline.svg")
        self.assertEqual([text for text in texts if text.startswith("rank")], ["rank 0", "rank 1"])
        # Each rank computes once, without a break, and communicates in an all-reduce and then until the end.
        # Bars that touch are one time whose columns are filled to different heights.
        classes, end = [], None
        for bar in bars:
            if not classes or classes[-1] != bar["class"] or int(bar["x"]) != end:
                classes.append(bar["class"])
            end = int(bar["x"]) + int(bar["width"])
        self.assertEqual(classes, ["compute", "communication", "communication"] * 2)
        self.row("draw", "timeline", f"{', '.join(texts)}: {', '.join(classes)}")

        nodes = [chakra.Node(i, f"layer{i // 250}.op{i % 250}", dependencies=[i - 1] if i else []) for i in range(MANY)]
        chakra.write(self.folder / "many.0.et", nodes)
        # 40 layers of 250 numbered operations; all are one when their layers' numbers are not looked at.
        for most, vertices, collapsed in ((60, 40, "layer"), (20, 1, "name")):
            made = self.trace("draw", self.folder / "many.0.et", "--most", most, "--out", self.folder / "many")
            dot = (self.folder / "many.dot").read_text(encoding="utf-8")
            drawn = re.findall(r'^ *n\d+ \[label="([^"]*)"', dot, re.MULTILINE)
            self.assertEqual((len(drawn), made["vertices"], made["collapsed"]), (vertices, vertices, collapsed))
            # Every node is in one of the vertices: "x n" of a label says how many.
            self.assertEqual(sum(int(number) for number in re.findall(r" x (\d+)", dot)), MANY)
            self.row("draw", f"{MANY} nodes, at most {most}", f"{vertices} vertices, collapsed by {collapsed}")

    def test_select(self):
        print()
        cases = (
            ("one rank", ("--only-ranks", "1"), 1, [[1, 2, 3, 4]]),
            ("kinds", ("--only-kinds", "compute,all_gather"), 2, [[1, 3, 4]] * 2),
            ("names", ("--only-names", "*.gemm"), 2, [[1, 3]] * 2),
            ("ids", ("--only-ids", "1-2"), 2, [[1, 2]] * 2),
            # The second node of rank 1 ends at 15 us.
            ("window of time", ("--window", "16us-22us", *RATE), 2, [[3, 4, 5], [4, 5]]),
        )
        for number, (feature, options, world, ids) in enumerate(cases):
            with self.subTest(feature):
                out = self.folder / f"part{number}"
                made = self.trace("select", self.prefix, *options, "--out", out)
                left = [[node.id for node in nodes] for nodes in chakra.read_ranks(out)]
                self.assertEqual((made["ranks"], made["nodes"]), (world, sum(map(len, left))))
                self.assertEqual(left, ids)
                if world > 1:
                    self.assertEqual(self.trace("check", out)["errors"], 0)
                self.row("select", f"{feature}: {' '.join(options[:2])}", f"nodes {left}")

    def test_scale(self):
        print()
        for across, groups, exchanged in (
            # Three groups of two, in which 2 x 4096 bytes go. All of six exchange 6 x 5 inputs of 1000; three messages.
            ((), {"tp", "tp_r1", "tp_r2"}, 3 * 2 * 4096 + 30 * 1000 + 300),
            # One of six, which all-reduces 4096 bytes in 2 x 5 steps.
            (("--across", "tp"), {"tp"}, 10 * 4096 + 30 * 1000 + 300),
        ):
            out = self.folder / ("wide" if across else "apart")
            made = self.trace("scale", self.prefix, "--replicate", 3, *across, "--out", out)
            self.assertEqual((made["ranks"], made["nodes"]), (6, 30))
            self.assertEqual(self.trace("check", out)["errors"], 0)
            self.assertEqual(set(json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))), groups)
            config = {
                "workload": {"traces": str(out), "groups": str(out.with_suffix(".json"))},
                "hosts": {"count": 6, "npus": 1},
                "ports": {"count": 6, "device": "ring", "rate": "8Gbps"},
            }
            summary = self.call("simulate", config, out=f"{out.name}-run").summary
            self.assertEqual((summary["verdict"], summary["bytes"]), ("ok", exchanged))
            figures = f"6 ranks, groups {sorted(groups)}, {exchanged} bytes run"
            self.row("scale", f"--replicate 3 {' '.join(across)}", figures)


if __name__ == "__main__":
    unittest.main()

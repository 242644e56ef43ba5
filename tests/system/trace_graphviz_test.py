"""`rankwire trace draw` with Graphviz's own program `dot`."""

import shutil
import unittest

import chakra
from rankwire import OK, RankwireTest, rankwire


class TraceGraphviz(RankwireTest):
    def test_graphviz_draws_a_large_trace(self):
        if shutil.which("dot") is None:
            self.skipTest("no dot of Graphviz")
        nodes = [chakra.Node(i, f'layer{i // 250}."op"{i}', dependencies=[i - 1] if i else []) for i in range(10_000)]
        chakra.write(self.folder / "w.0.et", nodes)
        process = rankwire("trace", "draw", self.folder / "w.0.et", "--format", "svg,pdf", "--out", self.folder / "w")
        self.assertEqual(process.returncode, OK, process.stderr)
        svg = (self.folder / "w.svg").read_text()
        self.assertEqual(svg.count('class="node"'), 40)  # a vertex for each layer
        self.assertIn("layer0", (self.folder / "w.dot").read_text())
        pdf = (self.folder / "w.pdf").read_bytes()
        self.assertTrue(pdf.startswith(b"%PDF"))
        print(f"\n10000 nodes: 40 vertices in {len(svg)} bytes of SVG, {len(pdf)} bytes of PDF")


if __name__ == "__main__":
    unittest.main()

"""report.html in a browser: the matrix of traffic, the curves of times, and what numbers say of themselves."""

import contextlib
import html
import json
import sqlite3
import unittest

import chakra
from pages import HOSTILE, PageTest, differences
from rankwire import FAILED, transformer

RANKS = 4
MATRIX, TIMES = 'document.querySelector("#traffic")', 'document.querySelector("#times figure:not([hidden])")'


class Pictures(PageTest):
    def simulated(self):
        """The page of ranks that reduce, gather and send to the next one; with three models side by side."""
        ranks = []
        for rank in range(RANKS):
            nodes = [chakra.collective(chakra.ALL_REDUCE, 65536, id=i, after=[i - 1] if i else [], name=name)
                     for i, name in enumerate(HOSTILE)]
            nodes.append(chakra.collective(chakra.ALL_GATHER, 8192, id=len(nodes), after=[len(nodes) - 1], name="gather"))
            if rank in (0, 1):
                kind, end = (chakra.SEND, "comm_dst") if rank == 0 else (chakra.RECEIVE, "comm_src")
                nodes.append(chakra.Node(len(nodes), "act", kind, [len(nodes) - 1], 0,
                                         {end: 1 - rank, "comm_size": 1 << 20, "comm_tag": 1}))
            ranks.append(nodes)
        chakra.write_ranks(f"{self.run_folder}/trace", ranks)
        config = {"name": "pictures", "workload": {"traces": f"{self.run_folder}/trace"},
                  "hosts": {"count": RANKS}, "ports": {"count": RANKS, "device": "memory", "rate": "10Gbps"},
                  "simulation": {"fidelity": ["twin", "flow", "alpha_beta"]}, "record": {"messages": "all"}}
        run = self.call("simulate", config, out=self.run_folder + "/run")
        type(self).pairs = {(int(row["source"]), int(row["destination"])): int(row["bytes_wire"]) + int(row["bytes_local"])
                            for row in run.rows("traffic") if row["fidelity"] == "twin"}
        with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as connection:
            type(self).messages = connection.execute("SELECT count(*) FROM messages WHERE run=1 AND control=0").fetchone()[0]
        return run.folder / "report.html"

    def told(self, of):
        """What a picture says of the place that is pointed at or chosen."""
        self.browser.frame()
        return self.browser.evaluate(f'{of}.querySelector(".told").textContent')

    def expected(self, source, destination):
        count = self.pairs.get((source, destination), 0)
        return f"rank {source} to rank {destination}: " + (f" ({count:,} B)" if count else "nothing")

    def test_the_matrix_tells_its_cells_by_arrows(self):
        self.browser.evaluate(f'{MATRIX}.querySelector("canvas").focus()')
        self.browser.key("ArrowRight")
        for source in range(RANKS):
            for destination in range(RANKS):
                beginning, _, end = self.expected(source, destination).partition(": ")
                told = self.told(MATRIX)
                self.assertTrue(told.startswith(beginning + ": "), told)
                self.assertIn(end, told)
                self.assertIn(f"rank {source} sends", told)
                self.assertIn(f"rank {destination} receives", told)
                self.browser.key("ArrowRight")
            self.browser.key("ArrowDown")
            for _ in range(RANKS):
                self.browser.key("ArrowLeft")
        self.assertTrue(any(self.pairs.values()))
        self.browser.key("Escape")
        self.assertEqual(self.told(MATRIX), "")

    def test_the_matrix_tells_its_cells_by_pointer(self):
        self.middle(f'{MATRIX}.querySelector("canvas")')
        x, y, height = self.browser.evaluate(f"""(() => {{ const r = {MATRIX}.querySelector("canvas").getBoundingClientRect();
            return [r.x, r.y, r.height]; }})()""")
        side = 640  # of the cells where there is room, which begin as far from the left as from the top; beneath is the scale
        margin = height - side - 28
        for source in range(RANKS):
            for destination in range(RANKS):
                self.browser.mouse("mouseMoved", x + margin + side / RANKS * (destination + 0.5),
                                   y + margin + side / RANKS * (source + 0.5))
                self.assertTrue(self.told(MATRIX).startswith(f"rank {source} to rank {destination}: "), self.told(MATRIX))
        self.browser.mouse("mouseMoved", 5, 5)
        self.assertEqual(self.told(MATRIX), "")

    def test_two_hundred_and_fifty_six_blocks_with_hostile_names(self):
        blocks = 256
        cells = range(blocks * blocks)
        data = {"labels": [f"{HOSTILE[i % len(HOSTILE)]} {i}"[-200:] for i in range(blocks)], "cells": len(cells),
                "place": differences(cells), "wire": differences([i * 977 % 1_000_003 + 1 for i in cells]),
                "local": differences([0] * len(cells))}
        text = self.page.read_text(encoding="utf-8")
        start = text.index('data-matrix="') + len('data-matrix="')
        page = self.folder / "large.html"
        page.write_text(text[:start] + html.escape(json.dumps(data)) + text[text.index('"', start):], encoding="utf-8")
        for width in (1200, 400):
            self.browser.size(width, 900)
            self.open(page)
            self.browser.evaluate(f'{MATRIX}.querySelector("canvas").focus()')
            self.browser.key("ArrowRight")
            self.assertTrue(self.told(MATRIX).startswith(f"{HOSTILE[0]} 0 to {HOSTILE[0]} 0: 1 B"), self.told(MATRIX))
            self.browser.key("ArrowRight")
            self.assertIn("978 B", self.told(MATRIX))
            self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)

    def test_times_are_of_one_kind_at_a_time(self):
        kinds = self.browser.evaluate('[...document.querySelectorAll("#times option")].map(o => o.textContent)')
        self.assertEqual(kinds, ["all messages", "all_gather", "all_reduce", "send"])
        shown = 'document.querySelectorAll("#times figure:not([hidden])").length'
        for kind in kinds:
            self.browser.evaluate(f"""(() => {{ const s = document.querySelector("#times select"); s.value = "{kind}";
                s.dispatchEvent(new Event("change")); }})()""")
            self.assertEqual(self.browser.evaluate(shown), 1)
            self.assertEqual(self.browser.evaluate(f"{TIMES}.dataset.kind"), kind)
            self.assertEqual(self.browser.evaluate(f'{TIMES}.querySelectorAll(".curve").length'), 2, "twin and reference")
        self.assertEqual(sum(int(text.replace(",", "")) for text, _ in self.column(self.table("Times of messages"), "Messages")),
                         4 * self.messages, "twin and reference, of all and by kind")

    def test_times_are_told_by_arrows_and_pointer(self):
        self.browser.evaluate(f'{TIMES}.querySelector(".wide").focus()')
        self.browser.key("End")
        self.assertEqual(self.told(TIMES).count(f"100 % of {self.messages:,}"), 2, self.told(TIMES))
        self.browser.key("Home")
        self.assertRegex(self.told(TIMES), r"^within [\d.]+ \w?s(twin|reference)\d")
        self.browser.key("Escape")
        self.assertEqual(self.told(TIMES), "")
        x, y = self.middle(f'{TIMES}.querySelector("svg")')
        parts = []
        for step in range(-500, 501, 100):
            self.browser.mouse("mouseMoved", x + step, y)
            told = self.told(TIMES)
            parts.append(float(told.split("twin")[1].split(" %")[0]))
        self.assertEqual(parts, sorted(parts), "longer times are of more messages")
        self.assertGreater(parts[-1], parts[0])

    def test_every_number_says_what_it_is(self):
        without = self.browser.evaluate("""[...document.querySelectorAll("th, .card")].filter(e => !e.title)
            .map(e => e.closest("section")?.querySelector("h2").textContent + ": " + e.textContent)""")
        self.assertEqual(without, [])
        listed = self.browser.evaluate('document.querySelectorAll(".metrics dt").length')
        self.assertGreater(listed, 50)
        self.assertEqual(self.browser.evaluate("""document.querySelector("th[title] button").getAttribute("aria-description")"""),
                         self.browser.evaluate('document.querySelector("th[title]").title'))

    def test_models_side_by_side_sort(self):
        table = self.table("Models side by side")
        self.browser.click(*self.middle(self.heading(table, "Completion") + ".firstChild"))
        values = [int(value) for _, value in self.column(table, "Completion")]
        self.assertEqual(len(values), 3)
        self.assertEqual(values, sorted(values, reverse=True))

    def test_narrow_and_dark(self):
        pixel = f'[...{MATRIX}.querySelector("canvas").getContext("2d").getImageData(2, 40, 1, 1).data].slice(0, 3)'
        self.browser.size(400, 800, dark=True)
        self.browser.wait(f'{MATRIX}.querySelector("canvas").clientWidth < 400')
        self.browser.frame()
        self.assertEqual(self.browser.evaluate(pixel), [15, 20, 25], "the canvas follows")
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 400)

    def test_on_paper_and_without_scripts_are_pictures(self):
        seen = (f'[{MATRIX}.querySelector("svg"), {MATRIX}.querySelector("canvas"), {TIMES}.querySelector("svg"), '
                'document.querySelector("#times .choice")].map(e => e?.checkVisibility() ?? false)')
        self.assertEqual(self.browser.evaluate(seen), [False, True, True, True])
        self.browser.call("Emulation.setEmulatedMedia", media="print",
                          features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.assertEqual(self.browser.evaluate(seen), [True, False, True, False])
        self.assertEqual(self.browser.evaluate(f'getComputedStyle({MATRIX}.querySelector(".heat")).fill'), "rgb(11, 79, 156)",
                         "paper is light")
        self.browser.call("Emulation.setEmulatedMedia", media="", features=[])
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(self.browser.call, "Emulation.setScriptExecutionDisabled", value=False)
        self.browser.open(self.page)
        self.assertEqual(self.browser.evaluate(seen), [True, False, True, False])
        self.assertEqual(self.browser.evaluate('document.querySelectorAll("#times figure").length'), 4)


class Failed(PageTest):
    """Of a run of whose ports one goes down: the others wait for its rank."""

    def simulated(self):
        config = {
            "workload": {"generate": transformer(tensor_parallel=1, pipeline_parallel=1, data_parallel=8)},
            "hosts": {"count": 8},
            "ports": {"count": 8, "device": "memory", "rate": "10Gbps"},
            "fabric": {"leaves": 4, "spines": 2, "failures": [{"a": "p0", "down": "100us"}]},
        }
        return self.call("simulate", config, "--twin", status=FAILED).folder / "report.html"

    def test_who_waits_for_whom_fits_into_a_narrow_window(self):
        self.browser.size(400, 800)
        self.browser.frame()
        self.assertTrue(self.browser.evaluate('document.querySelector("svg.waits") !== null'))
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 400)


if __name__ == "__main__":
    unittest.main()

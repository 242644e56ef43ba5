"""report.html in a browser: what answers, what is harmless, and what it looks like."""

import json
import re
import unittest

import chakra
from pages import HOSTILE, PageTest, differences

RANKS, LAYERS = 4, 16


def many_operations(count):
    """Data of a page with operations of 1 us each in 4 ranks, one after the other and 1 us apart, alike on both sides."""
    rows = range(count)
    of_rank = count // RANKS
    zeros = differences([0] * count)
    start = differences([row % of_rank * 2_000_000 for row in rows])
    duration = differences([1_000_000] * count)
    return {
        "end_ps": of_rank * 2_000_000, "operations": count, "left_out": 23_456, "shortest_ps": 1_000_000,
        "sides": ["twin", "reference"], "ranks": [[rank, f"rank {rank}", ""] for rank in range(RANKS)],
        "kinds": [["send", 1]], "groups": [""], "names": {"shared": "A", "rest": ["an operation"]},
        "columns": {"rank": differences([row // of_rank for row in rows]), "name": zeros, "kind": zeros, "group": zeros,
                    "iteration": zeros, "node": differences(rows), "bytes": zeros, "sides": differences([3] * count),
                    "emulated_start": start, "emulated_duration": duration,
                    "reference_start": start, "reference_duration": duration}}


def many_messages(count):
    """Data of as many messages of the first of them, of 1 ns and more, to the same one at the next rank."""
    rows = range(count)
    zeros = differences([0] * count)
    return [{"messages": count, "all": 2 * count,
             "columns": {"from": zeros, "to": differences([100_000 // RANKS] * count), "source": zeros,
                         "destination": differences([1] * count), "posted": zeros,
                         "duration": differences([1000 + row for row in rows]), "bytes": differences([4096] * count),
                         "retransmissions": zeros, "marks": zeros}}, None]


class Page(PageTest):
    def simulated(self):
        """The page of layers that compute and reduce, and of operations with hostile names."""
        nodes = []
        for name in [f"layer{i}" for i in range(LAYERS)] + HOSTILE:
            i, after = len(nodes), [len(nodes) - 1] if nodes else []
            nodes.append(chakra.Node(i, f"{name}.forward"[-200:], chakra.COMPUTE, after, 5))
            nodes.append(chakra.collective(chakra.ALL_REDUCE, 4096 * (i + 1), id=i + 1, after=[i], name=name))
        chakra.write_ranks(f"{self.run_folder}/trace", [nodes] * RANKS)
        config = {"name": "page <b>", "workload": {"traces": f"{self.run_folder}/trace"},
                  "hosts": {"count": RANKS}, "ports": {"count": RANKS, "device": "memory", "rate": "10Gbps"}}
        return self.call("simulate", config, "--twin", out=self.run_folder + "/run").folder / "report.html"

    def shown(self):
        """The times that the timeline shows: from, to and how wide that is, in picoseconds."""
        self.browser.frame()
        units = {"s": 1e12, "ms": 1e9, "us": 1e6, "ns": 1e3, "ps": 1}
        text = self.browser.evaluate('document.querySelector("#timeline .range").textContent')
        return [float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (\w?s)\b", text)]

    def canvas(self):
        """Left, top, width and height of the timeline on the screen."""
        self.browser.evaluate('document.querySelector("#timeline canvas").scrollIntoView({block: "center"})')
        self.browser.frame()
        return self.browser.evaluate("""(() => { const r = document.querySelector("#timeline canvas").getBoundingClientRect();
            return [r.x, r.y, r.width, r.height]; })()""")

    def test_bars_stay_in_their_cells(self):
        self.assertGreater(self.browser.evaluate('document.querySelectorAll("td:not(:first-child) .bar").length'), 0)
        outside = self.browser.evaluate("""[...document.querySelectorAll(".bar")].filter(bar => {
            const b = bar.getBoundingClientRect(), c = bar.closest("td").getBoundingClientRect();
            return b.left < c.left - 1 || b.right > c.right + 1 || b.top < c.top - 1 || b.bottom > c.bottom + 1;
        }).length""")
        self.assertEqual(outside, 0)

    def test_tables_sort_by_value(self):
        table = self.table("Operations")
        order = self.column(table, "Operation")
        self.browser.click(*self.middle(self.heading(table, "Longest") + ".firstChild"))
        values = [int(value) for _, value in self.column(table, "Longest")]
        self.assertEqual(values, sorted(values, reverse=True))
        self.assertGreater(len(set(values)), 3)
        attribute = f'{self.heading(table, "Longest")}.getAttribute("aria-sort")'
        self.assertEqual(self.browser.evaluate(attribute), "descending")
        self.browser.click(*self.middle(self.heading(table, "Longest") + ".firstChild"))
        values = [int(value) for _, value in self.column(table, "Longest")]
        self.assertEqual(values, sorted(values))
        # What is not known is last in either direction: computing has no bandwidth.
        for _ in range(2):
            self.browser.click(*self.middle(self.heading(table, "busbw Gbit/s") + ".firstChild"))
            known = [text != "-" for text, _ in self.column(table, "busbw Gbit/s")]
            self.assertEqual(known, sorted(known, reverse=True))
            self.assertEqual(set(known), {True, False})
        self.assertIsNone(self.browser.evaluate(attribute), "by one column at a time")
        self.browser.click(*self.middle(self.heading(table, "busbw Gbit/s") + ".firstChild"))
        self.assertEqual(self.column(table, "Operation"), order, "a third click restores the order")

    def test_tables_sort_by_keyboard(self):
        table = self.table("Operations")
        self.browser.evaluate(f'{self.heading(table, "Kind")}.firstChild.focus()')
        self.browser.key("Enter")
        kinds = [text for text, _ in self.column(table, "Kind")]
        self.assertEqual(kinds, sorted(kinds))
        self.assertEqual(set(kinds), {"all_reduce", "compute"})
        self.assertEqual(self.browser.evaluate(f'{self.heading(table, "Kind")}.getAttribute("aria-sort")'), "ascending")

    def test_long_tables_are_filtered(self):
        table = self.table("Slowest messages")
        rows = self.browser.evaluate(f"{table}.tBodies[0].rows.length")
        self.assertGreater(rows, 10)
        field = f'{table}.closest("section").querySelector(".filter input")'
        self.browser.evaluate(f"{field}.focus()")
        self.browser.type("right to left")
        visible = self.browser.evaluate(f"""[...{table}.tBodies[0].rows].filter(row => row.offsetHeight > 0)
            .map(row => row.textContent)""")
        self.assertTrue(0 < len(visible) < rows)
        self.assertTrue(all("right to left" in text for text in visible), visible)
        self.assertEqual(self.browser.evaluate(f'{table}.closest("section").querySelector(".filter output").textContent'),
                         f"{len(visible)} of {rows} rows")
        short = self.table("Ranks")
        self.assertLessEqual(self.browser.evaluate(f"{short}.tBodies[0].rows.length"), 10)
        self.assertIsNone(self.browser.evaluate(f'{short}.closest("section").querySelector(".filter")'))

    def test_the_search_leads_to_operations_and_rows(self):
        self.browser.key("/")
        self.browser.type("layer7")
        found = self.browser.wait('[...document.querySelectorAll("#found button")].map(b => b.textContent)')
        self.assertTrue(all("layer7" in text for text in found), found)
        self.assertTrue(found[0].startswith("Timeline layer7"), found)
        self.browser.key("ArrowDown")
        self.browser.key("Enter")
        told = self.browser.wait('document.querySelector("#timeline .told").textContent')
        self.assertTrue(told.startswith("layer7"), told)
        for side in ("twin", "reference", "difference"):
            self.assertIn(side, told)
        _, _, width = self.shown()
        self.assertLess(width, self.browser.evaluate('JSON.parse(document.getElementById("operations").textContent).end_ps'))
        # A number stands for itself: "rank 1" is nothing of rank 10, and ports have names.
        for query in ("rank 1", "p1"):
            self.browser.evaluate("document.querySelector('.tools input').select()")
            self.browser.type(query)
            self.browser.wait(f"[...document.querySelectorAll('#found button')].some(b => /^Ports.*p1\\b|^Timeline rank 1$/"
                              f".test(b.textContent))")

    def test_rows_lead_to_the_timeline(self):
        table = self.table("Operations")
        self.browser.click(*self.middle(f'[...{table}.querySelectorAll("button.jump")].find(b => b.textContent === "layer#")'))
        self.assertTrue(self.browser.wait('document.querySelector("#timeline .told").textContent').startswith("layer"))

    def test_the_timeline_zooms_and_pans(self):
        x, y, width, height = self.canvas()
        first, end, all_of_it = self.shown()
        self.assertEqual(first, 0)
        at = x + width * 0.6, y + height / 2
        self.browser.wheel(*at, -400)
        self.browser.wait(f'document.querySelector("#timeline .range").textContent.startsWith("0 ps") === false')
        left, right, zoomed = self.shown()
        self.assertLess(zoomed, all_of_it * 0.7)
        self.assertTrue(0 < left < right <= end)
        self.browser.drag(at, (at[0] - 200, at[1]))
        self.assertGreater(self.shown()[0], left)
        self.assertAlmostEqual(self.shown()[2], zoomed, delta=zoomed / 100)
        self.browser.evaluate('document.querySelector("#timeline canvas").focus()')
        self.browser.key("+")
        self.assertAlmostEqual(self.shown()[2], zoomed / 2, delta=zoomed / 100)
        self.browser.key("-")
        before = self.shown()[0]
        self.browser.key("ArrowLeft")
        self.assertLess(self.shown()[0], before)
        for _ in range(60):
            self.browser.key("+")
        self.assertGreater(self.shown()[2], 100, "a pixel is a picosecond at least")
        self.browser.click(*at, count=2)
        self.assertEqual(self.shown(), [first, end, all_of_it])

    def test_pointing_at_an_operation_tells_of_it(self):
        x, y, width, height = self.canvas()
        tip = 'document.querySelector("#timeline .tip:not([hidden])")?.textContent'
        told = set()
        for row in range(24, int(height), 9):
            self.browser.mouse("mouseMoved", x + 130 + (width - 130) * 0.4, y + row)
            told.add(self.browser.evaluate(tip))
        told = {text for text in told if text and "message of" not in text}
        self.assertTrue(told)
        for text in told:
            self.assertRegex(text, r"(all_reduce|compute) · .*rank \d · iteration 0 · node \d+")
            self.assertRegex(text, r"twin[\d.]+ \w?s, from [\d.]+ \w?s on")
            self.assertRegex(text, r"reference[\d.]+ \w?s, from [\d.]+ \w?s on")
            self.assertRegex(text, r"difference[+-]?[\d.]+ \w?s, ratio \d+\.\d{3}")
        self.assertTrue(any("KiB" in text for text in told), told)

    def test_names_are_text(self):
        text = self.browser.evaluate("document.body.innerText")
        for name in ("<script>window.hurt = #</script>", "quote \" ' ` \\", "right to left \u05d0\u05d1\u05d2"):
            self.assertIn(name, text)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('script').length"), 5,
                         "two with data of the paths, two of the timeline, and the one that runs")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('img').length"), 0)
        # The data of the timeline have them, too, the longest cut.
        for query, name in (("window.hurt", "hurt"), ("quote", "`"), ("right to left", "\u0645"), ("long long", "…")):
            self.browser.evaluate("document.querySelector('.tools input').focus(); document.querySelector('.tools input').select()")
            self.browser.type(query)
            self.browser.wait(f"""[...document.querySelectorAll("#found button")].some(b => b.textContent.startsWith("Timeline")
                && b.textContent.includes({json.dumps(query)}) && b.textContent.includes({json.dumps(name)}))""")

    def test_narrow_and_dark(self):
        light = self.browser.evaluate("getComputedStyle(document.body).backgroundColor")
        pixel = """[...document.querySelector("#timeline canvas").getContext("2d").getImageData(5, 5, 1, 1).data].slice(0, 3)"""
        self.browser.size(400, 800, dark=True)
        self.browser.wait('document.querySelector("#timeline canvas").clientWidth < 400')
        self.browser.frame()
        dark = self.browser.evaluate("getComputedStyle(document.body).backgroundColor")
        self.assertEqual((light, dark), ("rgb(255, 255, 255)", "rgb(15, 20, 25)"))
        self.assertEqual(self.browser.evaluate(pixel), [15, 20, 25], "the canvas follows")
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 400)
        self.assertGreater(self.browser.evaluate(f"{self.table('Operations')}.parentElement.scrollWidth"), 400,
                           "wide tables scroll in themselves")

    def test_on_paper_and_without_scripts_is_the_picture(self):
        shown = '["#timeline .still svg", "#timeline .moving canvas", ".tools"].map(s => document.querySelector(s)?.checkVisibility() ?? false)'
        self.assertEqual(self.browser.evaluate(shown), [False, True, True])
        self.browser.call("Emulation.setEmulatedMedia", media="print",
                          features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.assertEqual(self.browser.evaluate(shown), [True, False, False])
        self.assertEqual(self.browser.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)",
                         "paper is light")
        self.browser.call("Emulation.setEmulatedMedia", media="", features=[])
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(self.browser.call, "Emulation.setScriptExecutionDisabled", value=False)
        self.browser.open(self.page)
        self.assertEqual(self.browser.evaluate(shown), [True, False, False])

    def test_a_hundred_thousand_operations(self):
        html = self.page.read_text(encoding="utf-8")
        for place, data in (("operations", many_operations(100_000)), ("messages", many_messages(20_000))):
            start = html.index(f'id="{place}">') + len(f'id="{place}">')
            html = html[:start] + json.dumps(data) + html[html.index("</script>", start):]
        page = self.folder / "many.html"
        page.write_text(html, encoding="utf-8")
        self.open(page)
        note = self.browser.evaluate('document.querySelector("#timeline .moving .note").textContent')
        self.assertIn("100,000 of 123,456 operations are here, the longest; none shorter than 1 us.", note)
        # What is drawn is bounded by what there is to see: a rectangle in two pixels of each of 8 lanes, and not each of
        # 200,000 bars.
        self.browser.evaluate("""(() => { const draw = CanvasRenderingContext2D.prototype.fillRect; window.drawn = 0;
            CanvasRenderingContext2D.prototype.fillRect = function (...a) { ++window.drawn; draw.apply(this, a); } })()""")
        x, y, width, height = self.canvas()
        self.browser.evaluate("window.drawn = 0")
        self.browser.wheel(x + width / 2, y + height / 2, -100)
        self.browser.frame()
        self.assertLess(self.shown()[2], 50e9)
        self.assertTrue(0 < self.browser.evaluate("window.drawn") < 3 * 8 * width)
        self.browser.evaluate('document.querySelector("#timeline canvas").focus()')
        for _ in range(20):
            self.browser.key("+")
        self.browser.wait('/ ns wide/.test(document.querySelector("#timeline .range").textContent)')
        self.assertLess(self.shown()[2], 1e6)
        # So is what is drawn of messages: of all that the first operation has on either side the slowest.
        self.browser.key("/")
        self.browser.type("an operation")
        self.browser.wait("""[...document.querySelectorAll("#found button")].some(b => b.textContent.startsWith("Timeline an operation"))""")
        self.browser.evaluate("""(() => { const draw = CanvasRenderingContext2D.prototype.lineTo; window.lines = 0;
            CanvasRenderingContext2D.prototype.lineTo = function (...a) { ++window.lines; draw.apply(this, a); } })()""")
        self.browser.key("ArrowDown")
        self.browser.key("Enter")
        self.browser.wait('document.querySelector("#timeline .range").textContent.endsWith("; messages: 400 of 20000, the slowest")')
        self.assertIn("20,000 of 40,000 of the twin", note)
        self.assertTrue(400 <= self.browser.evaluate("window.lines") < 5_000)


if __name__ == "__main__":
    unittest.main()

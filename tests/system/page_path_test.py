"""report.html in a browser: the gap to the reference as a picture, both critical paths, and the messages of operations."""

import contextlib
import json
import sqlite3
import unittest

import chakra
from pages import HOSTILE, PageTest
from rankwire import transformer

RANKS = 4
GAP = 'document.querySelector("#gap")'
PATHS = 'document.querySelector("#paths")'
PARTS = f'[...{GAP}.querySelectorAll("a.part")]'


class Paths(PageTest):
    def simulated(self):
        """Ranks that compute and reduce over a network that loses packets."""
        nodes = []
        for name in ["first", *HOSTILE]:
            i, after = len(nodes), [len(nodes) - 1] if nodes else []
            nodes.append(chakra.Node(i, f"{name}.forward"[-200:], chakra.COMPUTE, after, 5))
            nodes.append(chakra.collective(chakra.ALL_REDUCE, 1 << 17, id=i + 1, after=[i], name=name))
        chakra.write_ranks(f"{self.run_folder}/trace", [nodes] * RANKS)
        config = {"name": "path", "workload": {"traces": f"{self.run_folder}/trace"},
                  "hosts": {"count": RANKS}, "ports": {"count": RANKS, "device": "memory", "rate": "10Gbps"},
                  "record": {"causes": "on", "messages": "all"},
                  "impairments": [{"action": "drop", "class": "data", "every": 50, "count": 20}]}
        run = self.call("simulate", config, "--twin", out=self.run_folder + "/run")
        type(self).summary = run.summary
        type(self).path = run.rows("critical_path")
        return run.folder / "report.html"

    def parts(self):
        """Of the summary, those that are not zero, by name."""
        return {name.removesuffix("_ps"): time for name, time in self.summary["waterfall"].items()
                if name != "gap_ps" and time != 0}

    def test_the_gap_is_a_picture_from_the_reference_to_the_emulated_side(self):
        parts = self.parts()
        self.assertGreater(len(parts), 1, parts)
        bars = self.browser.evaluate(f"""{PARTS}.map(a => ({{ href: a.getAttribute("href"), title: a.querySelector("title").textContent,
            y: Number(a.querySelectorAll("rect")[1].getAttribute("y")),
            height: Number(a.querySelectorAll("rect")[1].getAttribute("height")) }}))""")
        self.assertEqual([bar["href"] for bar in bars[0::len(bars) - 1]], ["#gap", "#gap"])
        self.assertEqual({bar["href"].removeprefix("#gap-") for bar in bars[1:-1]}, set(parts))
        if "unexplained" in parts:
            self.assertEqual(bars[-2]["href"], "#gap-unexplained")
        # One scale for all: by so many picoseconds the tops of both ends differ. Heights have a tenth of a unit.
        gap = self.summary["waterfall"]["gap_ps"]
        scale = (bars[0]["y"] - bars[-1]["y"]) / gap
        self.assertGreater(scale, 0)
        level = bars[0]["y"]
        for bar in bars[1:-1]:
            part = parts[bar["href"].removeprefix("#gap-")]
            self.assertAlmostEqual(bar["height"], max(abs(part) * scale, 1), delta=0.3)
            to = level - part * scale
            self.assertAlmostEqual(bar["y"], min(level, to), delta=0.3)
            level = to
            self.assertRegex(bar["title"], r": [+-][\d.]+ \w?s\. \w+")
            self.assertEqual(self.browser.evaluate(f'document.querySelector({json.dumps(bar["href"])}).tagName'), "TR")
        self.assertAlmostEqual(level, bars[-1]["y"], delta=0.5)

    def test_a_part_of_the_gap_leads_to_where_most_of_it_happened(self):
        most = max(self.parts(), key=lambda name: self.parts()[name])
        place = self.browser.evaluate(f'{PARTS}.findIndex(a => a.getAttribute("href") === "#gap-{most}")')
        told = f'{GAP}.querySelector(".told").textContent'
        self.browser.mouse("mouseMoved", *self.middle(f"{PARTS}[{place}].querySelectorAll('rect')[1]"))
        self.assertRegex(self.browser.evaluate(told), r"\+[\d.]+ \w?s")
        self.browser.mouse("mouseMoved", 1, 1)
        self.assertTrue(self.browser.evaluate(told).startswith("Pointing at a bar"))
        self.browser.click(*self.middle(f"{PARTS}[{place}].querySelectorAll('rect')[1]"))
        self.browser.mouse("mouseMoved", 1, 1)
        self.assertFalse(self.browser.evaluate(told).startswith("Pointing at a bar"), "a click keeps it")
        step = max(self.path, key=lambda row: int(row[f"{most}_ps"]))
        self.browser.click(*self.middle(f'{GAP}.querySelector(".told li button")'))
        self.assertIn(f'rank {step["rank"]} · iteration {step["iteration"]} · node {step["node"]}',
                      self.browser.wait('document.querySelector("#timeline .told").textContent'))
        section = f'{GAP}.querySelector(".told > p:last-child button")'
        title = self.browser.evaluate(f"{section}.textContent").split("“")[1].rstrip("”")
        self.browser.click(*self.middle(section))
        self.browser.frame()
        top = self.browser.evaluate(f"""[...document.querySelectorAll("h2")].find(h => h.textContent === {json.dumps(title)})
            .getBoundingClientRect().top""")
        self.assertTrue(0 <= top < 900, top)
        self.browser.evaluate(f"{PARTS}[0].focus()")
        self.browser.key("End")
        self.assertTrue(self.browser.evaluate(told).startswith("twin "), "arrows move from bar to bar")
        self.browser.key("Escape")

    def steps(self):
        """Middle (pixels of the canvas) and row of each step of the emulated side's path that is 20 pixels wide or more."""
        x, y, width, _ = self.browser.evaluate(f"""(() => {{ const c = {PATHS}.querySelector("canvas"); c.scrollIntoView({{block: "center"}});
            const r = c.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; }})()""")
        self.browser.frame()
        end = max(self.summary["critical_path"][side]["completion_ps"] for side in ("emulated", "reference"))
        scale = (width - 130) / end
        return [((x + 130 + (int(row["from_ps"]) + int(row["to_ps"])) / 2 * scale, y + 30), row) for row in self.path
                if (int(row["to_ps"]) - int(row["from_ps"])) * scale >= 20]

    def test_both_paths_are_on_one_axis_and_tell_their_steps(self):
        tip = f'{PATHS}.querySelector(".tip:not([hidden])")?.textContent'
        for place, row in self.steps():
            self.browser.mouse("mouseMoved", *place)
            told = self.browser.evaluate(tip)
            self.assertIn(f'{row["kind"]} · ', told)
            self.assertIn(f'rank {row["rank"]} · iteration 0 · node {row["node"]}', told)
            self.assertRegex(told, r"twin[\d.]+ \w?s, from [\d.]+ \w?s on.*portp\d.*slacknone")
        # The reference stands beneath: it has no loss, so its end is earlier, and behind it there is nothing.
        (x, y), _ = self.steps()[-1]
        self.browser.mouse("mouseMoved", x, y + 38)
        self.assertIsNone(self.browser.evaluate(tip))
        self.browser.mouse("mouseMoved", x - 400, y + 38)
        self.assertRegex(self.browser.evaluate(tip), r"reference[\d.]+ \w?s, from")
        # What is between the steps of either side has a row of its own.
        rows = self.browser.evaluate('JSON.parse(document.getElementById("path-steps").textContent)')
        self.assertEqual(rows["left_out"], 0)
        self.assertEqual(any(int(row["before_ps"]) > 0 for row in self.path), ["wait", 1] in rows["kinds"])

    def test_the_paths_zoom_and_lead_to_the_timeline(self):
        shown = f'{PATHS}.querySelector(".range").textContent'
        place, row = self.steps()[0]
        all_of_it = self.browser.evaluate(shown)
        self.browser.wheel(*place, -200)
        self.browser.wait(f"{shown} !== {json.dumps(all_of_it)}")
        self.browser.click(*place)
        self.assertIn(f'rank {row["rank"]} · iteration 0 · node {row["node"]}',
                      self.browser.wait('document.querySelector("#timeline .told").textContent'))
        self.assertTrue(self.browser.evaluate('document.activeElement === document.querySelector("#timeline canvas")'))

    def test_an_operation_that_is_zoomed_in_on_shows_its_messages(self):
        about = self.browser.evaluate('document.querySelector("#timeline .moving .note").textContent')
        self.assertRegex(about, r"the slowest are here: ([\d,]+) of \1 of the twin, ([\d,]+) of \2 of the reference")
        seen = 'document.querySelector("#timeline .range").textContent'
        self.assertNotIn("messages", self.browser.evaluate(seen), "no operation is most of what is seen")
        # The first all-reduce of rank 0, by the path to it; the record has its messages one by one.
        with contextlib.closing(sqlite3.connect(self.page.parent / "run.sqlite")) as record:
            sent, received = record.execute("""SELECT sum(source = 0), sum(destination = 0) FROM messages JOIN runs USING (run)
                WHERE fidelity = 'twin' AND control = 0 AND sequence = 0""").fetchone()
        self.assertTrue(sent > 0 and received > 0)
        self.browser.key("/")
        self.browser.type("first")
        self.browser.wait('[...document.querySelectorAll("#found button")].some(b => b.textContent.startsWith("Timeline first "))')
        self.browser.evaluate("""[...document.querySelectorAll("#found button")].find(b => b.textContent.startsWith("Timeline first ")).click()""")
        told = self.browser.wait('document.querySelector("#timeline .told").textContent')
        self.assertRegex(told, rf"messages, twin{sent} sent, {received} received")
        self.browser.wait(f"/; messages: \\d+$/.test({seen})")
        for _ in range(4):  # not chosen, but most of what is seen
            self.browser.key("+")
        self.browser.key("Escape")
        self.browser.wait(f"/; messages: \\d+$/.test({seen})")
        # Somewhere between the lanes of ranks there are lines, which tell of their messages.
        told = self.browser.evaluate("""(() => { const c = document.querySelector("#timeline canvas"), t = new Set();
            const r = c.getBoundingClientRect(), tip = document.querySelector("#timeline .tip");
            for (let x = 150; x < r.width; x += 15) for (let y = 24; y < r.height; y += 3) {
                c.dispatchEvent(new PointerEvent("pointermove", { clientX: r.x + x, clientY: r.y + y }));
                if (!tip.hidden && tip.textContent.includes("message of")) t.add(tip.textContent); }
            return [...t]; })()""")
        self.assertTrue(told)
        for text in told:
            self.assertRegex(text, r"^rank \d to rank \dmessage of .* · [\d.]+ \w*B(twin|reference)[\d.]+ \w?s from its post")

    def test_narrow_and_on_paper(self):
        self.browser.size(400, 800, dark=True)
        self.browser.frame()
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 400)
        seen = (f'[{GAP}.querySelector("svg"), {GAP}.querySelector(".told"), {PATHS}.querySelector("svg"), '
                f'{PATHS}.querySelector("canvas")].map(e => e.checkVisibility())')
        self.assertEqual(self.browser.evaluate(seen), [True, True, False, True])
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        self.assertEqual(self.browser.evaluate(seen), [True, False, True, False])
        self.assertTrue(self.browser.evaluate(f'{GAP}.querySelector("svg").clientWidth <= {GAP}.clientWidth'), "nothing is cut off")
        self.browser.call("Emulation.setEmulatedMedia", media="")


class JobGaps(PageTest):
    def simulated(self):
        """Two jobs that share ports and lose packets; the one that ends first has a gap of its own."""
        def job(name, layers):
            return {"name": name, "workload": {"scale": {"bytes": "1/16"}, "generate": transformer(
                layers=layers, tensor_parallel=1, pipeline_parallel=1, data_parallel=4)}}
        config = {"jobs": [job('<b>"1"</b>', 2), job('<b>"2"</b>', 4)], "hosts": {"count": RANKS, "npus": 2, "nics": 1},
                  "mapping": {"policy": "round_robin"}, "ports": {"count": RANKS, "device": "memory", "rate": "10Gbps"},
                  "switch": {"loss": "1%"}, "record": {"causes": "on"}}
        run = self.call("simulate", config, "--twin", out=self.run_folder + "/run")
        type(self).job = min(run.summary["jobs"], key=lambda job: job["emulated"]["end_ps"])
        return run.folder / "report.html"

    def test_each_job_has_a_picture_of_its_own_gap(self):
        figure = f'document.querySelector("#job{self.job["job"]}-gap")'
        self.assertIn(f"The gap of job {self.job['name']}: ",
                      self.browser.evaluate(f'{figure}.closest("details").querySelector("summary").textContent'))
        values = self.browser.evaluate(f"""[...{figure}.querySelectorAll("a.part")].map(a => a.querySelector("text").textContent)""")
        units = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
        times = [float(value.split()[0]) * units[value.split()[1]] for value in values]
        # From when the job ends in the reference to when it ended, part by part; four digits are shown of each.
        self.assertAlmostEqual(times[0] / self.job["reference"]["end_ps"], 1, delta=1e-3)
        self.assertAlmostEqual(times[-1] / self.job["emulated"]["end_ps"], 1, delta=1e-3)
        self.assertAlmostEqual(sum(times[:-1]) / times[-1], 1, delta=2e-3)
        # It tells of its parts as that of the run does, and no id stands for two things.
        self.browser.click(*self.middle(f"{figure}.querySelectorAll('a.part')[1].querySelectorAll('rect')[1]"))
        self.browser.frame()
        self.assertIn(values[1], self.browser.evaluate(f'{figure}.querySelector(".told").textContent'))
        self.assertEqual(self.browser.evaluate("""(() => { const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
            return ids.filter((id, i) => ids.indexOf(id) !== i); })()"""), [])


if __name__ == "__main__":
    unittest.main()

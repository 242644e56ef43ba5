"""`rankwire trace inspect --html` from outside and in a browser; `--against` and `--by-rank`."""

import json
import os
import unittest

import chakra
from pages import HOSTILE, PageTest
from rankwire import FAILED, OK, USAGE, rankwire

RANKS, START = 4, 1_700_000_000_000_000  # profilers count microseconds from 1970


def rank_nodes(rank, names=HOSTILE):
    """A host operation launches each kernel of 20 us, late at the third; a collective after each, to which rank 2 comes 5 us
    later than the others; collectives end together. Rank r moves 64 KiB x (r + 1) with every all-to-all."""
    nodes, now = [], START
    for step, name in enumerate(names):
        first = 4 * step
        late = 50 if step == 2 else 0
        slow = 5 if rank == 2 else 0
        tensors = f"[[{step}, {step}, 0, 1024, 4, 'cuda:0']]"
        nodes += [
            chakra.Node(first, "aten::mm", dependencies=[first - 4] if step else [], duration_us=2, start_us=now + late,
                        attributes={"is_cpu_op": 1, "tid": 1}),
            chakra.Node(first + 1, name, dependencies=[first], duration_us=20 + slow, start_us=now + late + 1,
                        attributes={"is_cpu_op": 0, "stream": 7}, inputs=tensors),
            chakra.Node(first + 2, "reduce", chakra.COLLECTIVE, [first + 1], 30 - slow,
                        {"comm_type": chakra.ALL_REDUCE, "comm_size": 4096, "stream": 20}, now + late + 21 + slow),
            chakra.Node(first + 3, "dispatch", chakra.COLLECTIVE, [first + 2], 10,
                        {"comm_type": chakra.ALL_TO_ALL, "comm_size": 65536 * (rank + 1), "stream": 20}, now + late + 51),
        ]
        now += late + 61
    return nodes


class TracePage(PageTest):
    def simulated(self):
        """The page of the traces beside those of another run, which had no last step."""
        chakra.write_ranks(f"{self.run_folder}/now", [rank_nodes(rank) for rank in range(RANKS)])
        chakra.write_ranks(f"{self.run_folder}/before", [rank_nodes(rank, HOSTILE[:-1]) for rank in range(RANKS)])
        page = self.folder.parent / f"{self.run_folder}/pages/now.html"
        process = rankwire("trace", "inspect", f"{self.run_folder}/now", "--against", f"{self.run_folder}/before", "--html",
                           page, "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        type(self).report = json.loads(process.stdout)["sets"][0]
        return page

    def test_figures(self):
        report, steps = self.report, len(HOSTILE)
        self.assertEqual(report["times"], "recorded")
        rank = report["ranks"][0]
        # The kernels of rank 0 take 20 us each; the third is launched 50 us late, and its host operation lasts.
        self.assertEqual(rank["compute_ps"], 20 * steps * 10**6)
        self.assertEqual(rank["exposed_ps"], 40 * steps * 10**6)
        # Between steps lies 1 us more, for which the kernel's launch is as late.
        self.assertEqual(rank["idle"]["host_ps"], 50 * 10**6 + 10**6)
        self.assertEqual(rank["idle_ps"], 50 * 10**6 + (steps - 1) * 10**6)
        late = [of["lateness"]["held_up_ps"] for of in report["ranks"]]
        self.assertEqual(late, [0, 0, 5 * steps * 10**6, 0])
        self.assertEqual(report["largest_imbalance"]["rank"], 3)
        self.assertEqual(report["largest_imbalance"]["bytes"] / report["largest_imbalance"]["mean_bytes"], 4 / 2.5)
        self.assertTrue(any("rank 2 comes last to 7 of 14 collectives" in remark for remark in report["remarks"]))
        self.assertEqual({node["rank"] for node in report["critical_path"]["nodes"] if node["kind"] == "compute"}, {2})
        self.assertEqual(rank["memory"]["peak_bytes"], 4096)
        changes = {row["group" if "group" in row else "name"]: row["change"] for row in report["against"]["operations"]}
        self.assertEqual(changes[HOSTILE[-1]], "added")
        self.assertEqual(changes["aten::mm"], "more")

    def test_rank_by_rank_is_the_same(self):
        process = rankwire("trace", "inspect", f"{self.run_folder}/now", "--by-rank", "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        alone = json.loads(process.stdout)["sets"][0]
        for key in ("ranks", "operations", "communication", "stragglers", "end_ps"):
            self.assertEqual(alone[key], self.report[key], key)
        self.assertEqual(alone["critical_path"]["nodes"], [])

    def test_one_set_has_a_page(self):
        process = rankwire("trace", "inspect", self.run_folder, "--html", self.folder / "page.html")
        self.assert_one_line_error(process, USAGE, "--html", "two sets")
        self.assertFalse((self.folder / "page.html").exists())

    def test_sections_tables_and_pictures(self):
        titles = self.browser.evaluate('[...document.querySelectorAll("h2")].map(h => h.textContent)')
        self.assertEqual(titles, ["What stands out", "Differences", "Time of the ranks", "Why ranks were idle",
                                  "Who came last to collectives", "Critical path", "Bytes by rank", "Communication",
                                  "Operations", "Memory over time"])
        table = self.table("Who came last to collectives")
        self.assertEqual([int(value) for _, value in self.column(table, "Held others up")],
                         [0, 0, 5 * len(HOSTILE) * 10**6, 0])
        self.browser.click(*self.middle(self.heading(table, "Held others up") + ".firstChild"))
        self.assertEqual(self.column(table, "Rank")[0][0], "2", "the largest first")
        self.assertEqual(self.browser.evaluate('document.querySelectorAll("svg .heat").length'), 2 * RANKS)
        self.assertEqual(self.browser.evaluate('document.querySelectorAll("svg polyline").length'), RANKS)
        without = self.browser.evaluate("""[...document.querySelectorAll("th, .card")].filter(e => !e.title)
            .map(e => e.closest("section")?.querySelector("h2").textContent + ": " + e.textContent)""")
        self.assertEqual(without, [])

    def test_what_is_no_file_is_not_replaced(self):
        prefix, pipe = self.folder / "traces", self.folder / "pipe"
        chakra.write_ranks(prefix, [rank_nodes(0)])
        os.mkfifo(pipe)
        process = rankwire("trace", "inspect", prefix, "--html", pipe)
        self.assert_one_line_error(process, FAILED, f"{pipe}: is there, and no file that can be replaced")
        self.assertTrue(pipe.is_fifo())

    def test_narrow_and_dark(self):
        self.browser.size(400, 800, dark=True)
        self.browser.frame()
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 400)
        self.assertEqual(self.browser.evaluate('getComputedStyle(document.querySelector("svg .idle")).fill'), "rgb(57, 66, 76)")


if __name__ == "__main__":
    unittest.main()

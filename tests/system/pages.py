"""What tests of report.html in a browser share: a page that is made once, and what must hold of whatever is done with it."""

import shutil
import tempfile
import unittest

import chromium
from rankwire import RankwireTest

HOSTILE = ["<script>window.hurt = 1</script>", "</script><script>window.hurt = 2</script>", "<!-- <img src=x onerror=hurt()>",
           "quote \" ' ` \\", "\u202eright to left \u05d0\u05d1\u05d2 \u0645\u0631\u062d\u0628\u0627", "line\u2028paragraph\u2029", "long " * 2000]
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def differences(numbers):
    """As the page has its columns: base 64 VLQ of the difference to the number before."""
    text, before = [], 0
    for number in numbers:
        rest = abs(number - before) << 1 | (number < before)
        before = number
        while True:
            digit, rest = rest & 31, rest >> 5
            text.append(DIGITS[digit | (32 if rest else 0)])
            if not rest:
                break
    return "".join(text)


@unittest.skipIf(chromium.found() is None, "there is no Chromium (package chromium)")
class PageTest(RankwireTest):
    """`simulated` of a test makes the page and returns its path."""

    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Chromium()
        cls.addClassCleanup(cls.browser.close)
        cls.run_folder = tempfile.mkdtemp(prefix="rankwire-page-")
        cls.addClassCleanup(shutil.rmtree, cls.run_folder, ignore_errors=True)
        cls.page = None

    def setUp(self):
        super().setUp()
        if type(self).page is None:
            type(self).page = self.simulated()
        self.browser.size(1200, 900)
        self.open(self.page)

    def open(self, page):
        self.browser.open(page)
        self.browser.frame()

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])
        self.assertEqual([url for url in self.browser.requests if not url.startswith("file:///")], [])
        self.assertEqual(len(self.browser.requests), 1, "the page itself")
        self.assertIsNone(self.browser.evaluate("window.hurt"))
        super().tearDown()

    def table(self, title):
        """JavaScript for the table of a section."""
        return f"""[...document.querySelectorAll("section")].find(s => s.querySelector("h2").textContent === "{title}")
            .querySelector("table")"""

    def middle(self, expression):
        """Where an element is, after it was scrolled to."""
        return self.browser.evaluate(f"""(() => {{ const e = {expression}; e.scrollIntoView({{block: "center"}});
            const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()""")

    def heading(self, table, name):
        return f'[...{table}.querySelectorAll("th")].find(th => th.textContent === "{name}")'

    def column(self, table, name):
        """Texts of a column, and the values that its cells carry."""
        index = self.browser.evaluate(f'{self.heading(table, name)}.cellIndex')
        return self.browser.evaluate(f"""[...{table}.tBodies[0].rows].map(row => row.cells[{index}])
            .map(cell => [cell.textContent, cell.dataset.value])""")

"""includes.py over small repositories: what it must name, and what it must leave alone."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(os.environ["RANKWIRE_SOURCE"], "tests/lint/includes.py")


class Includes(unittest.TestCase):
    def said(self, **files):
        """Of a repository with these files, whose names have `_` for the dot and stand in a folder `room`."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "-q", folder], check=True)
            pathlib.Path(folder, "room").mkdir()
            for name, text in files.items():
                pathlib.Path(folder, "room", name.replace("_", ".")).write_text(text, encoding="utf-8")
            subprocess.run(["git", "add", "."], cwd=folder, check=True)
            lint = subprocess.run([sys.executable, "-B", SCRIPT], cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual(lint.returncode, 1 if lint.stderr else 0)
        return lint.stderr.splitlines()

    def test_a_standard_name(self):
        self.assertEqual(self.said(a_h="std::vector<int> all();\n"), ["room/a.h: std::vector: vector is not included"])
        self.assertEqual(self.said(a_h="#include <vector>\nstd::vector<int> all();\n"), [])

    def test_a_word_without_a_namespace(self):
        self.assertEqual(self.said(a_h="uint32_t count();\n"), ["room/a.h: uint32_t: cstdint is not included"])

    def test_a_header_of_ours_brings_its_own(self):
        header = "#include <string>\nstd::string name();\n"
        self.assertEqual(self.said(a_h=header, b_cc='#include "room/a.h"\nstd::string other() { return name(); }\n'), [])

    def test_a_type_of_ours(self):
        header = "struct Port {\n};\n"
        self.assertEqual(self.said(a_h=header, b_h="int number(const Port& port);\n"), ["room/b.h: Port: room/a.h is not included"])
        self.assertEqual(self.said(a_h=header, b_h="struct Port;\nint number(const Port& port);\n"), [])

    def test_a_name_that_also_stands_within_another_type(self):
        header = "struct Port {\n};\n"
        within = "struct Host {\n  struct Port {};\n  Port first;\n};\n"
        self.assertEqual(self.said(a_h=header, b_h=within), [])

    def test_comments_and_texts(self):
        self.assertEqual(self.said(a_cc='// std::vector\nconst char* kText = "std::map";\n/* uint8_t */\n'), [])


if __name__ == "__main__":
    unittest.main()

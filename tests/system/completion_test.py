"""Completions of shells and the manual page, which are made from what --help is made of."""

import re
import shutil
import subprocess
import unittest

from rankwire import OK, USAGE, RankwireTest, rankwire


def script(shell):
    return rankwire("completion", shell).stdout


class Bash(RankwireTest):
    def completed(self, *words):
        """What bash offers for the last of the words."""
        path = self.folder / "completion.bash"
        path.write_text(script("bash"), encoding="utf-8")
        quoted = " ".join(f"'{word}'" for word in ("rankwire", *words))
        text = (f"set -u\nsource {path}\ncomplete -p rankwire >&2\nCOMP_WORDS=({quoted})\n"
                f"COMP_CWORD={len(words)}\n_rankwire\n"
                'printf "%s\\n" "${COMPREPLY[@]}"')  # fmt: skip
        done = subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True, check=False,
                              cwd=self.folder)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("-F _rankwire rankwire", done.stderr)
        return done.stdout.split()

    def test_verbs(self):
        self.assertEqual(self.completed("sim"), ["simulate"])
        self.assertIn("compare", self.completed("com"))
        self.assertIn("check", self.completed("trace", "ch"))
        self.assertEqual(self.completed("trace", "sim"), [], "no verb of trace")

    def test_options_are_those_of_the_verb(self):
        self.assertEqual(self.completed("simulate", "--tw"), ["--twin"])
        self.assertEqual(self.completed("compare", "--tw"), [])
        self.assertEqual(self.completed("run", "a.yaml", "--ga"), ["--gate"])

    def test_values(self):
        self.assertEqual(self.completed("collective", "all_reduce", "--profile", ""), ["plain", "nccl"])
        self.assertEqual(self.completed("completion", "fi"), ["fish"])
        (self.folder / "gates.txt").touch()
        self.assertEqual(self.completed("run", "--gate", "ga"), ["gates.txt"], "a file, no option")

    def test_every_verb_of_the_help_is_offered(self):
        listed = rankwire("--help").stdout.split("Subcommands:")[1]
        verbs = {line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "}
        self.assertGreater(len(verbs), 10)
        self.assertLessEqual(verbs, set(self.completed("")))


class OtherShells(RankwireTest):
    def check_syntax(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(f"there is no {shell} (package {shell})")
        path = self.folder / shell
        path.write_text(script(shell), encoding="utf-8")
        done = subprocess.run([shell, "-n", path], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_zsh(self):
        self.check_syntax("zsh")

    def test_zsh_offers_what_bash_does(self):
        self.check_syntax("zsh")
        # What zsh gives to a function that completes, and takes from it.
        text = ("compdef() {}; _files() {}; compadd() { shift; print -l -- $@ }\n" + f"source {self.folder / 'zsh'}\n" +
                "complete_words() { local -a words=($@); local CURRENT=$#; _rankwire }\ncomplete_words rankwire ")  # fmt: skip
        for typed, offered, other in (("simulate --", "--twin", "--most"), ("trace ch", "check", "simulate"),
                                      ("collective all_reduce --profile p", "plain", "--twin")):  # fmt: skip
            done = subprocess.run(["zsh", "-f", "-c", text + typed], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(offered, done.stdout.split())
            self.assertNotIn(other, done.stdout.split())

    def test_fish(self):
        self.check_syntax("fish")


class Contents(RankwireTest):
    def test_a_shell_that_is_none(self):
        self.assertEqual(rankwire("completion", "cmd").returncode, USAGE)
        self.assertEqual(rankwire("completion", "zsh").returncode, OK)

    def test_fish_knows_options_and_verbs(self):
        text = script("fish")
        self.assertIn("-n '__fish_seen_subcommand_from simulate' -l twin", text)
        self.assertIn("-a simulate -d", text)


class Manual(RankwireTest):
    def test_it_has_no_warnings_and_all_options(self):
        page = self.folder / "rankwire.1"
        page.write_text(rankwire("man").stdout, encoding="utf-8")
        if shutil.which("groff") is None:
            self.skipTest("there is no groff (package groff)")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-c", page], capture_output=True, text=True,
                              check=False)  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # Bold and underlined text is struck over; hyphens may be others.
        shown = re.sub(".\x08", "", done.stdout).replace("\u2212", "-").replace("\u2010", "-")
        for text in ("EXIT STATUS", "--gate", "trace generate", "rankwire simulate configs/quickstart.yaml --twin --json"):
            self.assertTrue(text in shown, text)


if __name__ == "__main__":
    unittest.main()

"""The benchmarks of the IETF's drafts against a device that is not ours.

Some of them; RANKWIRE_BMWG_TESTS names others by their patterns, such as '*' for all.
"""

import json
import os

import yaml

from rankwire import FAILED, INCONCLUSIVE, OK, rankwire

# Of one switch with four ports, without congestion control, that has no cables between switches, and no hook to pull
# one.
SKIPPED = {"T2.ultra_ethernet", "T3.dcqcn", "T3.deadlock", "T6.interference", "T7.link_failure"}


def tests(default):
    return os.environ.get("RANKWIRE_BMWG_TESTS", default).split()


class BmwgDevice:
    """Beside a RankwireTest that has the device."""

    def benchmark(self, name, base, only, counters=None, prefix=()):
        """The cases by id, each with a verdict. `counters`: a program that prints what the device counts, where it can say
        so between two runs."""
        (self.folder / "base.yaml").write_text(yaml.safe_dump({"name": name} | base), encoding="utf-8")
        suite = {"name": name, "base": "base.yaml", "dut": {"model": name}}
        if counters:
            hook = self.folder / "counters"
            hook.write_text(counters, encoding="utf-8")
            hook.chmod(0o755)
            suite |= {"hooks": {"counters": str(hook)}, "hook_patience": "60s"}
        (self.folder / "suite.yaml").write_text(yaml.safe_dump(suite), encoding="utf-8")
        selected = [argument for pattern in only for argument in ("--only", pattern)]
        process = rankwire("bmwg", "run", self.folder / "suite.yaml", "--quick", "--yes", "--out", self.folder / "out",
                           *selected, prefix=prefix, timeout=1750)  # fmt: skip
        self.assertIn(process.returncode, (OK, FAILED, INCONCLUSIVE), process.stdout + process.stderr)
        result = json.loads((self.folder / "out/suite.json").read_text(encoding="utf-8"))
        cases = {case["id"]: case for case in result["cases"]}
        for test, case in cases.items():
            print(f"{name}, {test}: {case['verdict']} in {case['took_ms'] / 1000:.1f} s {case['reason']}", flush=True)
        for test, case in cases.items():
            # It marks nothing, so that T3.ecn has its answer; anything else is the device's if the generator kept pace.
            wanted = ("skipped",) if test in SKIPPED else ("fail", "inconclusive") if test == "T3.ecn" else (
                "pass", "inconclusive")  # fmt: skip
            with self.subTest(test=test):
                self.assertIn(case["verdict"], wanted, case["reason"])
        return cases

    def assert_jct(self, case, bits_per_second):
        """5 iterations of 1 ms and 1.5 x 256 KiB at the rate of the ports."""
        (jct,) = (m["value"] for m in case["measurements"] if m["name"] == "JCT")
        self.assertGreater(jct, 5 * (1 + 1.5 * 256 * 1024 * 8 / bits_per_second * 1e3))

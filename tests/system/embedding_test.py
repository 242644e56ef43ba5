"""`check` measures what this machine can embed, and says so. No test says how much that is."""

import json
import os
import unittest

from rankwire import OK, RankwireTest, rankwire, transformer

CONFIG = {
    "workload": {"generate": transformer(layers=2, pipeline_parallel=1)},
    "hosts": {"count": 2, "npus": 2},
    "ports": [{"name": "left", "device": "0000:81:00.0"}, {"name": "right", "device": "0000:81:00.1"}],
}


class Embedding(RankwireTest):
    def test_what_the_machine_can_embed(self):
        embedded = CONFIG | {"ports": {"count": 2, "device": "ring", "rate": "50Tbps"}, "transport": {"mtu": "1024B"}}
        path = self.configuration(embedded)
        process = rankwire("check", path, "--json")
        self.assertEqual(process.returncode, OK, process.stderr)
        check = json.loads(process.stdout)
        embedding = check["embedding"]
        self.assertEqual((embedding["ports"], embedding["mtu"], embedding["ports_gbps"]), (2, 1024, 100_000))
        (rate,) = embedding["measured"]
        self.assertEqual((rate["switch_core"], rate["reason"]), ("shared", None))
        self.assertGreater(rate["data_packets"], 0)
        self.assertGreater(rate["wire_gbps"] * 1e9, rate["data_packets_per_second"] * 1024 * 8)
        # No machine embeds 50 Tbit/s. That is no error, and nothing about the configuration.
        self.assertEqual((embedding["limited"], embedding["ports_at_once"]), (True, 0))
        self.assertEqual(check["warnings"], [])
        self.assertEqual(process.stderr, "".join(f"warning: {text}\n" for text in embedding["warnings"]))
        self.assertIn("as soon as one of them sends", process.stderr)

        both = json.loads(rankwire("check", path, "--json", "--set", "switch.core=own").stdout)["embedding"]
        self.assertEqual([rate["switch_core"] for rate in both["measured"]], ["own", "shared"])
        self.assertEqual(both["processors"], len(os.sched_getaffinity(0)))

    def test_what_is_not_measured(self):
        embedded = self.configuration(CONFIG | {"ports": {"count": 2, "device": "memory", "rate": "50Tbps"}})
        process = rankwire("check", embedded, "--json", "--no-measure")
        self.assertEqual((process.returncode, process.stderr), (OK, ""))
        embedding = json.loads(process.stdout)["embedding"]
        self.assertEqual((embedding["measured"], embedding["limited"]), ([], None))
        self.assertIn("--no-measure", embedding["reason"])
        self.assertNotIn("embeds", rankwire("check", embedded, "--no-measure").stdout)
        self.assertIn("this machine embeds", rankwire("check", embedded).stdout)
        devices = rankwire("check", self.configuration(CONFIG), "--json")
        self.assertIsNone(json.loads(devices.stdout)["embedding"])

    def test_leaves_nothing_behind(self):
        path = self.configuration(CONFIG | {"ports": {"count": 2, "device": "memory"}})
        (self.folder / "tmp").mkdir()
        process = rankwire("check", path, prefix=("env", f"TMPDIR={self.folder / 'tmp'}"))
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])


if __name__ == "__main__":
    unittest.main()

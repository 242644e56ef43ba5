"""The packet-level twin beside the reference, in virtual time: both exact, so that bounds and equality hold."""

import contextlib
import sqlite3
import unittest

import chakra
from rankwire import RankwireTest, transformer

MIB = 1 << 20
SIZE = 16 * MIB
MTU = 4096
# Ethernet 14, IPv4 20, UDP 8, BTH 12 before the payload, ICRC 4 and FCS 4 behind it, preamble 8 and gap 12 around it.
LINE_BYTES = MTU + 14 + 20 + 8 + 12 + 4 + 4 + 8 + 12
BYTE_PS = 800  # at 10 Gbps


class Accuracy(RankwireTest):
    def completion_times(self, config):
        run = self.call("simulate", config, "--twin")
        self.assert_delivered(run)
        self.assertEqual(run.transport["retransmitted"], 0)
        return run.summary["emulated"]["completion_time_ps"], run.summary["reference"]["completion_time_ps"]

    def star(self, kind, ranks):
        prefix = self.folder / f"{kind}.{ranks}"
        chakra.write_ranks(prefix, [[chakra.collective(kind, SIZE)]] * ranks)
        return {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": ranks, "npus": 1},
            "ports": {"count": ranks, "rate": "10Gbps"},
            "switch": {"buffer": "256MiB"},
        }

    def assert_accurate(self, kind, ranks, sent):
        """`sent`: bytes that each rank sends, at line rate, without a break."""
        with self.subTest(kind=kind, ranks=ranks):
            twin, reference = self.completion_times(self.star(kind, ranks))
            print(f"comm_type {kind}, 16 MiB on {ranks} ranks: twin / reference {twin / reference:.4f}")
            self.assertLessEqual(abs(twin / reference - 1), 0.02)
            ideal = sent // MTU * LINE_BYTES * BYTE_PS
            self.assertGreater(twin, ideal)
            self.assertGreater(reference, ideal)
            self.assertLess(reference, 1.01 * ideal)

    def test_ring_all_reduce(self):
        for ranks in (2, 4, 8):
            self.assert_accurate(chakra.ALL_REDUCE, ranks, 2 * (ranks - 1) * SIZE // ranks)

    def test_all_to_all(self):
        for ranks in (2, 4, 8):
            self.assert_accurate(chakra.ALL_TO_ALL, ranks, (ranks - 1) * SIZE // ranks)

    def test_default_timeout_suits_a_slow_port(self):
        # Two ranks send to one: 2 x 64 packets wait for 4.3 ms at 1 Gbps. No loss, so nothing should be sent again.
        config = self.star(chakra.GATHER, 3)
        config["ports"]["rate"] = "1Gbps"
        self.completion_times(config)


class Determinism(RankwireTest):
    CONFIG = {
        "workload": {"generate": transformer()},
        "seed": 42,
        "hosts": {"count": 4, "npus": 2},
        "ports": {"count": 4, "rate": "10Gbps"},
        "switch": {"loss": "0.5%", "ecn_threshold": "64KiB"},
        "transport": {"timeout": 10, "checking": True},
        "record": {"messages": "all"},
    }

    def rows(self, run, table, columns="*"):
        with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as connection:
            return sorted(connection.execute(f"SELECT {columns} FROM {table}").fetchall(), key=repr)

    def test_equal_seeds_give_equal_records(self):
        first, second = (self.call("simulate", self.CONFIG, "--twin", out=out) for out in ("first", "second"))
        self.assertGreater(first.transport["retransmitted"], 0)
        self.assertGreater(first.transport["ecn_ce_rx"], 0)
        for table in ("operations.csv", "flows.csv", "ports.csv", "ranks.csv", "latency.csv"):
            self.assertEqual((first.folder / table).read_bytes(), (second.folder / table).read_bytes(), table)
        for table in ("runs", "operations", "messages", "message_latency", "rank_completion", "flows", "ports", "details", "latency", "rank_nics"):
            rows = self.rows(first, table)
            self.assertTrue(rows, table)
            self.assertEqual(rows, self.rows(second, table), table)

    def test_another_seed_loses_other_frames(self):
        first = self.call("simulate", self.CONFIG, "--twin", out="first")
        second = self.call("simulate", self.CONFIG | {"seed": 43}, "--twin", out="second")
        self.assertNotEqual(first.rows("ports", fidelity="twin"), second.rows("ports", fidelity="twin"))
        # The single run of the reference knows neither loss nor seeds.
        times = [run.summary["reference"]["band"]["symmetric_ps"] for run in (first, second)]
        self.assertEqual(times[0], times[1])


if __name__ == "__main__":
    unittest.main()

"""How runs end that do not end well: with a verdict, a reason that names who and where, and a readable record."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time
import unittest

import chakra
import pcapng
from rankwire import BINARY, FAILED, OK, SOURCE, USAGE, RankwireTest, Run, rankwire, start, transformer

RANKS = 4
SIZE = 1 << 20


class Failing(RankwireTest):
    def wait_until(self, process, holds, what):
        """The running process makes it true within a minute; it shows in files alone, so they are looked at again."""
        deadline = time.monotonic() + 60
        while not holds():
            if process.poll() is not None or time.monotonic() > deadline:
                self.fail(f"no {what}, exit status {process.poll()}")
            time.sleep(0.05)

    def one_all_reduce(self, **sections):
        """Four ranks, each behind a port of its own, that sum a gradient."""
        gradient = chakra.collective(chakra.ALL_REDUCE, SIZE, id=7, name="sum of gradients")
        chakra.write_ranks(self.folder / "t", [[gradient]] * RANKS)
        return {
            "workload": {"traces": str(self.folder / "t")},
            "hosts": {"count": RANKS, "npus": 1},
            "ports": {"count": RANKS, "device": "ring", "rate": "1Gbps"},
        } | sections


class NothingArrives(Failing):
    def test_failure_names_ranks_operation_and_cause(self):
        run = self.call("run", self.one_all_reduce(switch={"loss": "100%"}), status=FAILED)
        self.assertEqual((run.summary["verdict"], run.summary["reason_code"]), ("failed", "message_failed"))
        reason = run.summary["reason"].splitlines()[0]
        self.assertIn("retry count exceeded", reason)
        self.assertIn("sum of gradients", reason)
        # The ring sends from each rank to the next.
        self.assertRegex(reason, r"rank (0 -> 1|1 -> 2|2 -> 3|3 -> 0)\b")
        self.assertEqual(run.transport["messages_delivered"], 0)
        # The first transmission and seven retries.
        self.assertGreaterEqual(run.transport["timeouts"], 8)

    def test_a_quiet_run_says_why_it_failed(self):
        # 2 x 3/4 x 1 MiB a rank at 10 Mbps takes 1.3 s.
        slow = self.one_all_reduce(run={"deadline": "100ms"})
        slow["ports"]["rate"] = "10Mbps"
        process = rankwire("run", self.configuration(slow), "--quiet", "--out", self.folder / "run")
        self.assertEqual((process.returncode, process.stdout), (FAILED, ""))
        self.assertRegex(process.stderr, "^error: failed: deadline of 0.1 s passed\n")
        config = self.configuration(self.one_all_reduce(switch={"loss": "100%"}))
        process = rankwire("simulate", config, "--quiet", "--twin", "--sweep", "seed=1,2", "--out", self.folder / "sweep")
        self.assertEqual((process.returncode, process.stdout), (FAILED, ""))
        self.assertEqual(len(process.stderr.splitlines()), 2)
        for line, seed in zip(process.stderr.splitlines(), (1, 2)):
            self.assertRegex(line, rf"^error: point-{seed}, seed={seed}: failed: .*retry count exceeded")

    def test_stall_lists_who_waits_for_whom(self):
        # One time-out is 4.096 us x 2^20 = 4.3 s: nothing happens for longer than the run may stall.
        config = self.one_all_reduce(
            switch={"loss": "100%"}, transport={"timeout": 20}, run={"stall_timeout": "300ms"}
        )
        run = self.call("run", config, status=FAILED)
        self.assertEqual((run.summary["verdict"], run.summary["reason_code"]), ("stalled", "no_progress"))
        first, *waits = run.summary["reason"].splitlines()
        self.assertIn("no progress", first)
        self.assertEqual(len(waits), RANKS)
        for rank, line in enumerate(waits):
            successor = (rank + 1) % RANKS
            self.assertRegex(
                line,
                rf"^rank {rank} in 'sum of gradients' \(node 7, all_reduce .*\) "
                rf"waits for rank {successor} to acknowledge .*: "
                r"source QP 0x[0-9a-f]+ psn 0x[0-9a-f]+ .*; destination QP 0x[0-9a-f]+ expects psn 0x[0-9a-f]+",
            )

    def test_twin_stalls_alike(self):
        config = self.one_all_reduce(
            switch={"loss": "100%"}, transport={"timeout": 20}, run={"stall_timeout": "300ms"}
        )
        run = self.call("simulate", config, "--twin", status=FAILED)
        self.assertEqual(run.summary["verdict"], "stalled")

    def test_times_remain_finite_when_the_run_continues(self):
        config = self.one_all_reduce(switch={"loss": "100%"}, run={"on_failure": "continue"})
        run = self.call("simulate", config, "--twin", status=FAILED)
        # A message for each of 2 x (RANKS - 1) steps and each rank. A queue pair gives up after 8 time-outs of 1 ms,
        # and what is posted to it afterwards is flushed: all is over within milliseconds, let alone a second.
        self.assertEqual(run.transport["messages_failed"], 2 * (RANKS - 1) * RANKS)
        self.assertLess(run.summary["emulated"]["completion_time_ps"], 10**12)
        for row in run.rows("operations"):
            self.assertLess(int(row["emulated_end_ps"] or 0), 10**12)
        first = run.summary["failures"][0]
        for text in (first["message"], first["reason"], first["operation"], first["state"]):
            self.assertIn(text, run.summary["reason"])

    def test_deadline_ends_the_run(self):
        # 2 x 3/4 x 1 MiB a rank at 1 Mbps takes 12.6 s; the deadline counts virtual time.
        config = self.one_all_reduce(transport={"timeout": 20}, run={"deadline": "2s"})
        config["ports"]["rate"] = "1Mbps"
        run = self.call("simulate", config, "--twin", status=FAILED)
        self.assertEqual((run.summary["verdict"], run.summary["reason_code"]), ("failed", "deadline"))
        self.assertIn("deadline of 2 s", run.summary["reason"])


    def test_a_quiet_run_says_that_it_is_degraded(self):
        # 2 x (RANKS - 1) x RANKS messages of 256 KiB are 1536 packets and more: that none of them is among the lost 5 %
        # has a probability of 0.95 ** 1536, and a seed decides.
        config = self.configuration(self.one_all_reduce(switch={"loss": "5%"}))
        for strict, status, text in ((), OK, "error: degraded: "), (("--strict",), FAILED, "error: --strict: degraded: "):
            out = self.folder / f"run{len(strict)}"
            process = rankwire("simulate", config, "--twin", "--quiet", "--out", out, *strict)
            self.assertEqual((process.returncode, process.stdout), (status, ""))
            self.assertRegex(process.stderr, f"^{text}[0-9]+ of [0-9]+ data packets lost.*\n$")


class Interruption(Failing):
    """Ends a run from outside as soon as its record holds some operations."""

    ENOUGH = 50
    ENOUGH_BYTES = 20_000  # of the capture: some hundred frames

    def setUp(self):
        super().setUp()
        self.config = self.configuration(
            {
                # 36,256 messages, 2.97 GB a port: two minutes at this rate.
                "workload": {"generate": transformer(layers=64, hidden=1024, micro_batches=16)},
                "hosts": {"count": 4, "npus": 2},
                "ports": {"count": 4, "device": "ring", "rate": "200Mbps"},
                "transport": {"timeout": 16, "congestion_control": {"algorithm": "dctcp"}},
                "record": {"fabric_interval": "1ms", "rate_interval": "1ms", "capture": "256MiB"},
            }
        )
        self.out = self.folder / "run"

    def recorded(self, table="operations"):
        """Operations that have ended, or samples of queues, according to the record."""
        database = self.out / "run.sqlite"
        if not database.exists():
            return 0
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            try:
                return connection.execute(f"SELECT count(*) FROM {table} WHERE run = 1").fetchone()[0]
            except sqlite3.OperationalError:  # the tables are not there yet
                return 0

    def captured(self):
        """Bytes of the capture's file."""
        capture = self.out / "capture.pcapng"
        return capture.stat().st_size if capture.exists() else 0

    def end_with(self, number):
        """The exit status after the signal, and how many operations were recorded before it; then there were some
        samples, and frames in the capture."""
        process = start("run", self.config, "--quiet", "--out", self.out)
        try:
            self.wait_until(
                process,
                lambda: self.recorded() >= self.ENOUGH
                and min(map(self.recorded, ("queue_samples", "port_rates"))) >= self.ENOUGH
                and self.recorded("allowances") > 0
                and self.captured() >= self.ENOUGH_BYTES,
                "operations, samples and frames in the record",
            )
            count = self.recorded()
            process.send_signal(number)
            process.communicate(timeout=60)
        finally:
            process.kill()
            process.communicate()
        return process.returncode, count

    def assert_readable(self, run, operations):
        self.assertEqual(run.summary["verdict"], "interrupted")
        ended = [row for row in run.rows("operations") if row["emulated_end_ps"]]
        self.assertGreaterEqual(len(ended), operations)
        for sampled in ("queues", "port_rates"):
            self.assertGreaterEqual(len(run.rows(sampled)), self.ENOUGH)
        self.assertTrue(run.rows("allowances"))
        self.assertTrue(all(row["source"] != row["destination"] for row in run.rows("allowances")))
        # Whole blocks, of all four ports; a block of the longest kept frame has 172 bytes.
        interfaces, packets = pcapng.read(run.folder / "capture.pcapng")
        self.assertEqual(len(interfaces), 4)
        self.assertEqual({packet.interface for packet in packets}, {name for name, _ in interfaces})
        self.assertGreaterEqual(len(packets), (self.ENOUGH_BYTES - 1000) // 172)
        self.assertTrue((run.folder / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>"))

    def test_interrupt_and_terminate(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                self.out = self.folder / number.name
                status, operations = self.end_with(number)
                self.assertEqual(status, FAILED)
                self.assert_readable(Run(self.out), operations)
                self.assertEqual(Run(self.out).summary["reason_code"], "signal")

    def test_kill_leaves_a_record_to_report(self):
        status, operations = self.end_with(signal.SIGKILL)
        self.assertEqual(status, -signal.SIGKILL)
        report = rankwire("report", self.out)
        self.assertEqual((report.returncode, report.stderr), (OK, ""))
        self.assertIn("interrupted: the emulated run has no end", report.stdout)
        self.assertIn("fidelity      unknown: the emulated run has no end, so what its generator counted is not",
                      report.stdout)
        self.assert_readable(Run(self.out), operations)
        self.assertEqual((Run(self.out).summary["reason_code"], Run(self.out).summary["fidelity"]),
                         ("no_end", "unknown"))

    def test_report_of_a_run_at_work(self):
        process = start("run", self.config, "--quiet", "--out", self.out)
        try:
            self.wait_until(process, lambda: self.recorded() >= self.ENOUGH, "operations in the record")
            report = rankwire("report", self.out)
            self.assertEqual(report.returncode, OK, report.stderr)
            self.assertIn(f"warning: {self.out}: a run is writing into this folder", report.stderr)
            self.assertIn("interrupted: the emulated run is still at work", report.stdout)
            run = Run(self.out)
            self.assertEqual((run.summary["verdict"], run.summary["reason_code"]), ("interrupted", "running"))
            self.assertGreaterEqual(len([row for row in run.rows("operations") if row["emulated_end_ps"]]), self.ENOUGH)
        finally:
            process.kill()
            process.communicate()


class InterruptedStorm(Failing):
    """A run that is killed while a host pauses its switch port for good."""

    def test_the_record_has_the_storm_that_lasts(self):
        config = {
            "workload": {"generate": transformer(layers=64, hidden=1024, micro_batches=16)},
            "hosts": {"count": 4, "npus": 2},
            "ports": {"count": 4, "device": "ring", "rate": "200Mbps"},
            "fabric": {
                "topology": "star",
                "lossless": [3],
                "buffer": {"shared": "8MiB", "headroom": "64KiB"},
                "watchdog": {"detection": "40ms", "restoration": "40ms"},
            },
            # 69 s: nothing fails meanwhile.
            "transport": {"timeout": 24},
            "impairments": [{"action": "pause", "port": "p3", "priorities": [3], "from": "100ms", "interval": "10ms"}],
        }
        out = self.folder / "run"
        process = start("run", self.configuration(config), "--quiet", "--out", out)
        try:
            self.wait_until(process, lambda: self.dropped(out) > 0, "a storm in the record")
            process.kill()
        finally:
            process.kill()
            process.communicate()
        report = rankwire("report", out)
        self.assertEqual(report.returncode, OK, report.stderr)
        run = Run(out)
        self.assertEqual(run.summary["verdict"], "interrupted")
        (storm,) = run.summary["storms"]
        self.assertEqual((storm["name"], storm["priority"], storm["end_ps"]), ("switch.p3", 3, None))
        # Looked at every quarter of 40 ms.
        self.assertGreaterEqual(storm["begin_ps"], 140 * 10**9)
        self.assertGreaterEqual(storm["begin_ps"] - storm["stuck_ps"], 40 * 10**9)
        self.assertGreater(storm["dropped"], 0)
        self.assertIn("Pause storms", (out / "report.html").read_text(encoding="utf-8"))

    def dropped(self, out):
        """Frames that storms cost, according to the record."""
        database = out / "run.sqlite"
        if not database.exists():
            return 0
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            try:
                return connection.execute("SELECT total(dropped) FROM storms WHERE run = 1").fetchone()[0]
            except sqlite3.OperationalError:  # the tables are not there yet
                return 0


class FullDisk(Failing):
    """A run into a file system that has no room for its record."""

    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", self.disk],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"a small file system needs root: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", self.disk], check=False)

    def test_the_summary_says_so_and_the_report_shows_what_there_is(self):
        # Some 30,000 operations, in memory as in virtual time: many times the file system's 1 MiB.
        chakra.write_ranks(self.folder / "t", [[
            chakra.collective(chakra.ALL_REDUCE, 4096, id=i, name=f"gradient {i}") for i in range(500)
        ]] * RANKS)
        config = self.configuration({
            "workload": {"traces": str(self.folder / "t"), "iterations": 15},
            "hosts": {"count": RANKS, "npus": 1},
            "ports": {"count": RANKS, "device": "memory", "rate": "100Gbps"},
        })
        out = self.disk / "run"
        process = rankwire("simulate", config, "--json", "--out", out)
        self.assert_one_line_error(process, FAILED, str(out / "run.sqlite"), "full")
        summary = json.loads(process.stdout)
        # What failed is undone, and where it was there may be room for the failure itself.
        self.assertEqual(summary["verdict"], "failed")
        self.assertIn(summary["reason_code"], ("not_written", "error"))
        self.assertIn("full", summary["reason"])
        # On the full file system nothing can be drawn; what is there is shown.
        report = rankwire("report", out)
        self.assertEqual(report.returncode, FAILED, report.stdout + report.stderr)
        told = "interrupted: the reference run has no end" if summary["reason_code"] == "not_written" else "failed: .* is full"
        self.assertRegex(report.stdout, told)
        self.assertRegex(report.stderr, "^error: .*cannot be written; is the disk full")
        self.assertEqual(len(report.stderr.splitlines()), 1)


class OtherVersions(Failing):
    """Records that another version of the program wrote."""

    def recorded(self, *statements):
        config = self.one_all_reduce()
        config["ports"]["device"] = "memory"
        run = self.call("simulate", config)
        with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        return run

    def test_a_version_that_cannot_be_read_is_named(self):
        run = self.recorded("UPDATE record SET value = '0.0.7' WHERE key = 'version'", "PRAGMA user_version = 1")
        self.assert_one_line_error(rankwire("report", run.folder), USAGE, "record version 1 of rankwire 0.0.7",
                                   "reads version", "summary.json, report.html, operations.csv")
        run = self.recorded("UPDATE record SET value = '0.0.8' WHERE key = 'version'",
                            "ALTER TABLE warnings DROP COLUMN text")
        self.assert_one_line_error(rankwire("report", run.folder), USAGE, "of rankwire 0.0.8",
                                   "without the column warnings.text", "summary.json, report.html, operations.csv")

    def test_an_early_one_of_this_version_is_read(self):
        """What was not recorded yet is named; how the record is read in detail is in tests/record/older_record_test.cc."""
        folder = self.folder / "early"
        folder.mkdir()
        with contextlib.closing(sqlite3.connect(folder / "run.sqlite")) as connection:
            connection.executescript((SOURCE / "tests/record/first_of_version_2.sql").read_text(encoding="utf-8"))
        process = rankwire("report", folder)
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertRegex(process.stderr, "^warning: .*early: recorded by an earlier version of rankwire 0.0.9.* shared_links,")
        self.assertEqual(len(process.stderr.splitlines()), 1)
        summary = Run(folder).summary
        self.assertEqual((summary["verdict"], summary["bytes_wire"], summary["emulated"]["completion_time_ps"]),
                         ("ok", 32768, 105631840))
        self.assertIn(process.stderr.strip().split("early: ")[1], summary["warnings"])

    def test_one_of_an_older_version_can_be_overwritten(self):
        run = self.recorded("PRAGMA user_version = 1")
        process = rankwire("simulate", self.folder / "test.yaml", "--out", run.folder)
        self.assert_one_line_error(process, USAGE, "this folder holds a run")
        self.assertEqual(self.call("simulate", self.folder / "test.yaml").summary["verdict"], "ok")


class Environment(Failing):
    def test_absent_interface(self):
        config = self.one_all_reduce()
        config["ports"] = [
            {"name": f"p{i}", "device": f"net_af_packet{i},iface=absent{i}", "rate": "1Gbps"} for i in range(RANKS)
        ]
        process = rankwire("run", self.configuration(config), "--out", self.folder / "run")
        self.assertIn(process.returncode, (FAILED, USAGE))
        self.assertIn("error: ", process.stderr.strip().splitlines()[-1])
        self.assertIn("net_af_packet0,iface=absent0", process.stderr.strip().splitlines()[-1])

    def test_absent_pci_device(self):
        config = self.one_all_reduce()
        config["ports"] = [
            {"name": f"p{i}", "device": f"ffff:ff:1f.{i}", "rate": "1Gbps"} for i in range(RANKS)
        ]
        process = rankwire("run", self.configuration(config), "--out", self.folder / "run")
        self.assertIn(process.returncode, (FAILED, USAGE))
        self.assertIn("ffff:ff:1f.0", process.stderr.strip().splitlines()[-1])

    def test_folder_that_cannot_be_made(self):
        (self.folder / "file").touch()
        config = self.configuration(self.one_all_reduce())
        process = rankwire("run", config, "--out", self.folder / "file" / "run")
        self.assert_one_line_error(process, USAGE, str(self.folder / "file" / "run"))

    def test_a_run_that_does_not_begin_leaves_no_older_summary(self):
        config = self.one_all_reduce(ports={"count": RANKS, "device": "memory", "rate": "1Gbps"})
        self.assertIn(self.call("run", config).summary["verdict"], ("ok", "degraded"))
        config["ports"] = [{"name": f"p{i}", "device": f"ffff:ff:1f.{i}", "rate": "1Gbps"} for i in range(RANKS)]
        again = rankwire("run", self.configuration(config), "--out", self.folder / "run", "--force")
        self.assertNotEqual(again.returncode, OK)
        self.assertIn("ffff:ff:1f.0", again.stderr)
        summary = self.folder / "run" / "summary.json"
        self.assertFalse(summary.exists() and Run(summary.parent).summary["verdict"] == "ok")

    def test_report_of_what_is_no_run(self):
        self.assert_one_line_error(rankwire("report", self.folder), USAGE, "run.sqlite")

    def test_folder_without_permission(self):
        config = self.configuration(self.one_all_reduce())
        as_nobody = self.as_ordinary_user()
        (self.folder / "closed").mkdir(mode=0o555)
        process = rankwire("run", config, "--out", self.folder / "closed" / "run", **as_nobody)
        self.assert_one_line_error(process, USAGE, "Permission denied")

    def test_named_pipes_are_not_waited_for(self):
        """Nobody writes into them. A pipe that somebody has opened is read."""
        config = self.configuration(self.one_all_reduce(ports={"count": RANKS, "device": "memory", "rate": "1Gbps"}))
        pipe = self.folder / "pipe.yaml"
        os.mkfifo(pipe)
        for arguments in (
            ("check", pipe),
            ("check", config, "--set", f"workload.groups={pipe}"),
            ("simulate", config, "--gate", pipe),
            ("trace", "synthesize", "--model", pipe, "--out", self.folder / "s"),
            ("convert", "goal", pipe, "--out", self.folder / "g"),
        ):
            with self.subTest(arguments[0]):
                self.assert_one_line_error(rankwire(*arguments), USAGE, "pipe.yaml: is a named pipe, not a")
        command = ["bash", "-c", '"$0" check <(cat "$1") --no-measure', BINARY, config]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(process.returncode, OK, process.stderr)

    def test_configuration_without_permission(self):
        config = self.configuration(self.one_all_reduce())
        as_nobody = self.as_ordinary_user()
        closed = self.folder / "closed"
        closed.mkdir(mode=0o700)
        process = rankwire("run", config.rename(closed / config.name), **as_nobody)
        self.assert_one_line_error(process, USAGE, "test.yaml: cannot be read: Permission denied")


if __name__ == "__main__":
    unittest.main()

"""Runs the program as a user does, and reads what it leaves behind."""

import contextlib
import csv
import functools
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ.get("RANKWIRE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BINARY = pathlib.Path(os.environ.get("RANKWIRE_BINARY", SOURCE / "build/release/rankwire"))
TEST_DATA = pathlib.Path(os.environ.get("RANKWIRE_TEST_DATA", SOURCE.parent / "shared/data"))

OK, FAILED, USAGE, INCONCLUSIVE = 0, 1, 2, 3  # exit statuses


class Run:
    """A run folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    @functools.cached_property
    def summary(self):
        return json.loads((self.folder / "summary.json").read_text(encoding="utf-8"))

    @property
    def transport(self):
        return self.summary["transport"]

    def rows(self, table, **where):
        """Rows of TABLE.csv as dictionaries of text, those whose columns have the given values."""
        with open(self.folder / f"{table}.csv", encoding="utf-8", newline="") as file:
            return [row for row in csv.DictReader(file) if all(row[column] == text for column, text in where.items())]


def recorded_operations(folder):
    """How many the record in the run folder has so far."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{folder / 'run.sqlite'}?mode=ro", uri=True)) as record:
            return record.execute("SELECT count(*) FROM operations").fetchone()[0]
    except sqlite3.OperationalError:  # not there yet
        return 0


def processor_seconds(task):
    """What a thread or process, a folder of /proc, has had of the processors."""
    fields = (pathlib.Path(task) / "stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_operations(process, folder):
    """Until the run of a process that was started has recorded some, has ended, or has had 30 s of the processors, which
    on a busy machine takes as long as it takes, 10 minutes at most. How many there are."""
    deadline = time.monotonic() + 600
    while recorded_operations(folder) == 0 and process.poll() is None and time.monotonic() < deadline:
        if processor_seconds(f"/proc/{process.pid}") > 30:
            break
        time.sleep(0.05)
    return recorded_operations(folder)


def start(*arguments, prefix=(), binary=BINARY):
    """Starts the program, by way of the command `prefix` if given, and does not wait."""
    command = [*map(str, prefix), str(binary), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def rankwire(*arguments, timeout=240, **how):
    """The finished process of one call; its standard output and error are attributes."""
    with start(*arguments, **how) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def transformer(**changes):
    """The keys of a generated training step: 8 ranks, about 1,000 operations, unless changed."""
    return {
        "layers": 4,
        "hidden": 256,
        "sequence": 256,
        "vocabulary": 1000,
        "micro_batches": 4,
        "tensor_parallel": 2,
        "pipeline_parallel": 2,
        "data_parallel": 2,
    } | changes


class RankwireTest(unittest.TestCase):
    """A test with a folder of its own, which is removed at the end."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rankwire-system-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def configuration(self, config, name="test.yaml"):
        """Writes a configuration given as dictionaries. JSON is YAML."""
        path = self.folder / name
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
        return path

    def call(self, verb, config, *arguments, status=OK, out="run", **how):
        """Runs or simulates a configuration (dictionaries, or a path) and returns its run folder, whose earlier run it
        overwrites."""
        path = self.configuration(config) if isinstance(config, dict) else config
        run = Run(self.folder / out)
        process = rankwire(verb, path, "--quiet", "--force", "--out", run.folder, *arguments, **how)
        if process.returncode != status:
            reason = run.summary["reason"] if (run.folder / "summary.json").exists() else ""
            self.fail(f"exit status {process.returncode}: {process.stdout}{process.stderr}{reason}")
        return run

    def as_ordinary_user(self):
        """Arguments for `rankwire` and `call` that start the program without privileges: as `nobody` when root asks.

        The test's folder is opened to all users; what must stay closed is made afterwards.
        """
        if os.geteuid() != 0:
            return {}
        if shutil.which("setpriv") is None:
            self.skipTest("root becomes an ordinary user by setpriv, which is absent")
        binary = self.folder / "rankwire"
        shutil.copy(BINARY, binary)
        subprocess.run(["chmod", "-R", "a+rwX", self.folder], check=True)
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--inh-caps=-all"]
        return {"prefix": ["env", f"HOME={self.folder}", f"TMPDIR={self.folder}", *user], "binary": binary}

    def unpack(self, archive):
        """The folder into which the archive below RANKWIRE_TEST_DATA was unpacked; skips where there is none."""
        path = TEST_DATA / archive
        if not path.exists():
            self.skipTest(f"no {archive} under RANKWIRE_TEST_DATA")
        if shutil.which("tar") is None:
            self.skipTest("no tar to unpack traces with")
        tar = subprocess.run(["tar", "xf", path, "-C", self.folder], capture_output=True, text=True, check=False)
        if tar.returncode != 0:
            self.skipTest(f"cannot unpack {archive}: {tar.stderr.strip()}")
        return self.folder

    def assert_delivered(self, run):
        """Every message arrived once and unharmed, and the record says so; also whether that took repairs."""
        summary, transport = run.summary, run.transport
        # RDMA devices do not say what arrived: null.
        harmless = not summary["diagnosis"]["losses"]["lost"] and transport["timeouts"] == 0
        self.assertEqual(summary["verdict"], "ok" if harmless else "degraded", summary["reason"])
        self.assertGreater(summary["messages"], 0)
        self.assertEqual(transport["messages_delivered"], summary["messages"])
        self.assertEqual(summary["bytes"], summary["bytes_wire"] + summary["bytes_local"])
        for name in ("messages_lost", "messages_duplicated", "payload_errors", "icrc_errors"):
            self.assertEqual(transport[name], 0, name)

    def assert_one_line_error(self, process, status, *texts):
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        lines = process.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, process.stderr)
        for text in texts:
            self.assertIn(text, lines[0])

"""Who is to blame: injected causes are named right, in virtual time on the embedded fabric.

Eight ranks compute and reduce. The seed decides which rank, port, cable or switch is the culprit, how bad it is, and what the
job is like. What virtual time cannot have is planted in the record of an undisturbed run, as a run would have written it:
lateness of the generator, and receivers that are not ready, since the twin's engine takes every message at once.

RANKWIRE_BLAME_SEEDS says how many seeds each kind has, 3 unless it is set.
"""

import collections
import os
import random
import sqlite3
import unittest

from rankwire import RankwireTest, Run, rankwire, transformer

SEEDS = int(os.environ.get("RANKWIRE_BLAME_SEEDS", "3"))
RANKS = 8
NOT_THE_DEVICE = {"late_generator", "unexplained"}
LOSSLESS = {"lossless": [3], "buffer": {"xoff": "64KiB", "headroom": "64KiB"}}
STAR = {"topology": "star"}
# Uplinks that carry whatever the hosts of a leaf send, wherever the hashes send it; and such that may collide.
WIDE = {"topology": "leaf_spine", "leaves": 2, "spines": 2, "link_rate": "400Gbps"}
NARROW = {"topology": "leaf_spine", "leaves": 2, "spines": 4, "link_rate": "100Gbps"}
CROWDED = {"topology": "leaf_spine", "leaves": 2, "spines": 1, "link_rate": "100Gbps"}


def job(choose, fabric):
    """An undisturbed run. On several switches neighbours on the rings stand behind different leaves."""
    step = transformer(
        layers=choose.choice((2, 3)),
        hidden=512,
        sequence=choose.choice((256, 512)),
        tensor_parallel=1,
        pipeline_parallel=1,
        data_parallel=RANKS,
        micro_batches=choose.choice((1, 2)),
    )
    config = {
        "seed": choose.randrange(1, 1 << 30),
        "workload": {"generate": step},
        "hosts": {"count": RANKS, "npus": 1},
        "ports": [{"name": f"p{i}", "device": "memory", "rate": "100Gbps"} for i in range(RANKS)],
        "fabric": dict(fabric),
        "record": {"causes": "on", "fabric_interval": "10us"},
    }
    if fabric["topology"] != "star":
        config["collectives"] = {"ring": {"order": "listed", "ranks": [0, 4, 1, 5, 2, 6, 3, 7]}}
    return config


def undisturbed(choose):
    return job(choose, choose.choice((STAR, STAR | LOSSLESS, WIDE))), None


def slow_rank(choose):
    config, rank = job(choose, choose.choice((STAR, WIDE))), choose.randrange(RANKS)
    config["workload"]["generate"]["micro_batches"] = 4
    config["compute"] = {"stragglers": [{"ranks": [rank], "factor": choose.choice((2, 3, 4))}]}
    return config, f"rank {rank} "


def slow_nic(choose):
    config, port = job(choose, STAR | LOSSLESS), choose.randrange(RANKS)
    config["ports"][port]["drain_rate"] = choose.choice(("20Gbps", "40Gbps", "60Gbps"))
    if choose.random() < 0.3:  # it does not even pause: its buffer overflows
        for each in config["ports"]:
            each["pfc"] = "off"
    return config, f"port p{port} "


def lossy_cable(choose):
    config = job(choose, WIDE)
    loss = choose.choice(("0.5%", "1%", "2%"))
    if choose.random() < 0.5:
        port = choose.randrange(RANKS)
        failure, culprit = {"a": f"p{port}"}, f"cable leaf{port * 2 // RANKS} - p{port}"
    else:
        leaf, spine = choose.randrange(2), choose.randrange(2)
        failure, culprit = {"a": f"leaf{leaf}", "b": f"spine{spine}"}, f"cable leaf{leaf} - spine{spine}"
    config["fabric"]["failures"] = [failure | {"loss": loss}]
    return config, culprit


def slow_spine(choose):
    config, spine = job(choose, WIDE), choose.randrange(2)
    config["fabric"]["failures"] = [{"a": f"spine{spine}", "rate": choose.choice(("20Gbps", "40Gbps"))}]
    return config, f"switch spine{spine}"


def ecmp_collision(choose):
    """Four flows each way over four spines: hashes spread them without a collision once in (4^4 / 4!)^2 = 114 seeds."""
    return job(choose, NARROW), "cable leaf"


def pfc_storm(choose):
    config, port = job(choose, choose.choice((STAR, WIDE)) | LOSSLESS), choose.randrange(RANKS)
    quanta = choose.choice((20_000, 40_000, 60_000))  # 102 to 307 us
    pause = {"action": "pause", "priorities": [3], "port": f"p{port}", "quanta": quanta, "interval": "400us"}
    config["impairments"] = [pause]
    return config, f"port p{port} "


def ecn_threshold(choose):
    config = job(choose, CROWDED)
    low = choose.choice((1, 2, 4))
    config["fabric"]["ecn"] = {"minimum": f"{low}KiB", "maximum": f"{2 * low}KiB", "probability": "100%"}
    algorithm = choose.choice(({"algorithm": "dctcp"}, {"algorithm": "dcqcn", "preset": "hpcc"}))
    config["transport"] = {"congestion_control": algorithm}
    return config, "switch leaf"


def congestion_control(choose):
    static = {"algorithm": "static", "rate": choose.choice(("20Gbps", "40Gbps", "60Gbps"))}
    slow_to_rise = {"algorithm": "dcqcn", "preset": "paper", "rp_time_reset": "2ms"}
    slow_to_rise |= {"rp_ai_rate": "1Mbps", "rp_hai_rate": "1Mbps"}
    algorithm, fabric = choose.choice(((static, STAR), (slow_to_rise, CROWDED)))
    config = job(choose, fabric)
    if fabric is CROWDED:
        config["fabric"]["ecn"] = {"minimum": "100KiB", "maximum": "400KiB", "probability": choose.choice(("5%", "20%"))}
    config["transport"] = {"congestion_control": algorithm}
    return config, None


def receiver_not_ready(choose):
    return job(choose, STAR), f"rank {choose.randrange(RANKS)} "


def background_job(choose):
    """Traffic without a trace, or a job at the same ports that ends before."""
    config, port = job(choose, choose.choice((STAR, WIDE))), choose.randrange(RANKS)
    if choose.random() < 0.4:
        train = config.pop("workload")
        noise = {"generate": train["generate"] | {"layers": 2, "micro_batches": 1}}
        config["jobs"] = [{"name": "train", "workload": train | {"iterations": 2}}, {"name": "noise", "workload": noise}]
        config["hosts"]["npus"] = 2
        return config, "job noise"
    size, outstanding = choose.choice(("64KiB", "256KiB")), choose.choice((2, 4))
    config["background"] = [{"name": "noise", "pattern": "incast", "to": port, "size": size, "outstanding": outstanding}]
    return config, "job noise"


def late_generator(choose):
    return job(choose, STAR), "the generator"


def reordering(choose):
    """Some of the packets of a port are overtaken by those behind them."""
    config, port = job(choose, choose.choice((STAR, WIDE))), choose.randrange(RANKS)
    late = {"delay": choose.choice(("20us", "50us", "100us")), "probability": choose.choice(("1%", "2%"))}
    config["impairments"] = [{"action": "delay", "port": f"p{port}"} | late]
    return config, f"port p{port} "


def small_window(choose):
    config = job(choose, choose.choice((STAR, WIDE)))
    config["transport"] = {"window": choose.choice((1, 2, 4))}
    return config, None


KINDS = (
    slow_rank,
    slow_nic,
    lossy_cable,
    slow_spine,
    ecmp_collision,
    pfc_storm,
    ecn_threshold,
    congestion_control,
    receiver_not_ready,
    background_job,
    late_generator,
    reordering,
    small_window,
)


class Planted:
    """The record of a twin, in which what communicates at some moment takes longer, and all that follows is later."""

    def __init__(self, folder, choose):
        self.choose = choose
        self.database = sqlite3.connect(folder / "run.sqlite")
        (self.run, self.completion) = self.database.execute(
            "SELECT run, completion_ps FROM runs WHERE fidelity='twin'"
        ).fetchone()
        under_way = self.database.execute(
            "SELECT iteration, node, start_ps, end_ps FROM operations JOIN nodes USING (rank, node)"
            " WHERE run=? AND group_size > 0 ORDER BY start_ps, rank",
            (self.run,),
        ).fetchall()
        self.iteration, self.node, begin, end = choose.choice(under_way)
        self.moment = (begin + end) // 2
        self.delay = self.completion * choose.randrange(15, 60) // 100

    def update(self, table, change, *values, where="true"):
        self.database.execute(f"UPDATE {table} SET {change} WHERE run={self.run} AND {where}", values)

    def finish(self):
        self.database.commit()
        self.database.close()

    def take_longer(self, computes_too):
        communicates = "(rank, node) IN (SELECT rank, node FROM nodes WHERE group_size > 0)"
        longer = "true" if computes_too else f"(start_ps > {self.moment} OR {communicates})"
        self.update("operations", "end_ps = end_ps + ?", self.delay, where=f"end_ps > {self.moment} AND {longer}")
        for table, column in (("operations", "start_ps"), ("runs", "completion_ps"), ("rank_completion", "completion_ps")):
            self.update(table, f"{column} = {column} + ?", self.delay, where=f"{column} > {self.moment}")

    def held_up(self, cause, where="true"):
        """One connection of the operation, by this cause."""
        of_operation = f"node={self.node} AND iteration={self.iteration}"
        (connection,) = self.database.execute(
            "SELECT connection FROM operation_causes JOIN flows USING (run, connection)"
            f" WHERE run={self.run} AND {of_operation} AND {where} ORDER BY connection"
        ).fetchone()
        where = f"{of_operation} AND connection={connection}"
        self.update("operation_causes", f"{cause}_ps = {cause}_ps + ?", self.delay, where=where)
        return connection

    def late_generator(self):
        """The loop stood still: its port lost line time for good, or one turn took so long. Meanwhile answers were late."""
        self.take_longer(computes_too=True)
        self.update("runs", "clock='real'")
        cause = self.choose.choice(("acknowledgement", "window", "congestion_control", "recovering", "paused", None))
        if cause is not None:
            self.held_up(cause)
        if self.choose.random() < 0.5:
            self.update("counters", "value=?", self.delay, where="name='slipped_ps'")
        turns = [(1_000_000, 1_031_249, self.completion // 1_000_000), (self.delay, self.delay * 33 // 32, 1)]
        for low, high, count in turns:
            self.database.execute("INSERT INTO turns VALUES (?, 0, ?, ?, ?)", (self.run, low, high, count))
        if cause == "recovering":
            self.update("counters", "value=100", where="name IN ('retransmitted', 'timeouts')")

    def receiver_not_ready(self, rank):
        """It asked a sender to wait for so long."""
        self.take_longer(computes_too=False)
        connection = self.held_up("rnr", where=f"destination={rank}")
        naks = self.delay // 640_000_000 + 10
        self.update("flows", "rnr_naks=?", naks, where=f"connection={connection}")
        self.update("counters", "value=?", naks, where="name='rnr_naks'")


class Blame(RankwireTest):
    def run_with(self, config, out):
        return self.call("simulate", config, "--twin", out=out)

    def planted(self, kind, seed, choose):
        config, culprit = kind(choose)
        run = self.run_with(config, f"{kind.__name__}{seed}")
        record = Planted(run.folder, choose)
        if kind is receiver_not_ready:
            record.receiver_not_ready(int(culprit.split()[1]))
        else:
            record.late_generator()
        record.finish()
        process = rankwire("report", run.folder, "--format", "markdown")
        self.assertEqual(process.returncode, 0, process.stderr)
        return Run(run.folder), culprit

    def of(self, kind, seed):
        """The run, and how the culprit's name begins."""
        choose = random.Random(f"{kind.__name__} {seed}")
        if kind in (receiver_not_ready, late_generator):
            return self.planted(kind, seed, choose)
        config, culprit = kind(choose)
        return self.run_with(config, f"{kind.__name__}{seed}"), culprit

    def assert_consistent(self, run):
        """The largest first, shares of one whole, and the first in the first sentence of what was found."""
        blame = run.summary["blame"]
        gaps = [entry["gap_ps"] for entry in blame]
        self.assertEqual(gaps, sorted(gaps, reverse=True))
        self.assertGreater(gaps[-1], 0)
        shares = [entry["share"] for entry in blame]
        self.assertLessEqual(sum(shares), 1 + 1e-9)
        self.assertAlmostEqual(shares[0] * gaps[-1], shares[-1] * gaps[0], delta=1e-6 * gaps[0])
        found = run.summary["diagnosis"]["findings"][0]
        self.assertRegex(found, "^to blame( for job [^:]+)?: ")
        if blame[0]["culprit"]:
            self.assertIn(blame[0]["culprit"], found)
        self.assertIn(blame[0]["evidence"], found)
        self.assertIn(f"confidence {blame[0]['confidence']}", found)

    def test_injected_causes_are_named(self):
        named = {kind.__name__: collections.Counter() for kind in KINDS}
        right, accused = collections.Counter(), []
        for kind in KINDS:
            for seed in range(SEEDS):
                run, culprit = self.of(kind, seed)
                blame = run.summary["blame"]
                first = blame[0] if blame else {"kind": "nobody", "culprit": None}
                name = (first["culprit"] or "") + " "
                is_right = first["kind"] == kind.__name__ and (culprit is None or name.startswith(culprit))
                named[kind.__name__][first["kind"]] += 1
                right[kind.__name__] += is_right
                if not is_right:
                    print(f"{kind.__name__} {seed}, {culprit}: {first}, {run.summary['waterfall']}")
                if kind is late_generator and not is_right:
                    accused.append((seed, first))
                if blame:
                    self.assert_consistent(run)
        names = sorted({name for row in named.values() for name in row})
        print(f"\n{'injected, named:':<20}" + "".join(f"{name[:13]:>14}" for name in names) + f"{'right':>7}")
        for kind, row in named.items():
            print(f"{kind:<20}" + "".join(f"{row[name] or '.':>14}" for name in names) + f"{right[kind]:>7}")
        self.assertEqual(accused, [])
        self.assertGreaterEqual(sum(right.values()), 0.95 * SEEDS * len(KINDS))
        for kind, count in right.items():
            self.assertGreaterEqual(count, 0.85 * SEEDS - 1e-9, kind)  # 17 of 20

    def test_undisturbed_runs_blame_nobody(self):
        for seed in range(SEEDS):
            run, _ = self.of(undisturbed, seed)
            self.assertEqual(run.summary["blame"], [], (seed, run.summary["waterfall"]))
            self.assertFalse(any("to blame" in text for text in run.summary["diagnosis"]["findings"]))

    def test_losses_on_purpose_are_those_of_the_port_that_makes_them(self):
        """All that is lost is on the way to one other port, too, which has nothing to do with it."""
        for port in (0, 3):
            config = job(random.Random(port), STAR)
            config["impairments"] = [{"action": "drop", "class": "data", "port": f"p{port}", "every": 40}]
            first = self.run_with(config, f"on-purpose{port}").summary["blame"][0]
            self.assertEqual(first["kind"], "lossy_cable", first)
            self.assertEqual(first["culprit"].split(" (")[0], f"port p{port}", first)
            self.assertEqual(first["confidence"], "high", first)
            self.assertIn("on purpose", first["evidence"])

    def test_causes_without_operations_take_no_blame_away(self):
        config = job(random.Random(1), STAR) | {"switch": {"loss": "1%"}}
        config["record"] = {"causes": "on", "operations": "none"}
        first = self.run_with(config, "without-operations").summary["blame"][0]
        self.assertEqual(first["kind"], "lossy_cable", first)

    def test_each_job_has_its_own(self):
        """Both lose time, each to something else, and the run ends with the second: 3 times as long, beside the first."""
        config = job(random.Random(1), STAR)
        step = config.pop("workload")["generate"] | {"data_parallel": RANKS // 2}
        config["jobs"] = [{"name": "early", "workload": {"generate": step}},
                          {"name": "late", "workload": {"generate": step, "iterations": 3}}]
        config["compute"] = {"stragglers": [{"ranks": [1], "factor": 3}]}
        config["impairments"] = [{"action": "drop", "class": "data", "port": "p6", "every": 40}]
        run = self.call("simulate", config, "--twin")
        early, late = (each["blame"] for each in run.summary["jobs"])
        self.assertEqual((early[0]["kind"], early[0]["culprit"]), ("slow_rank", "rank 1 of job early (host 1)"), early)
        self.assertEqual((late[0]["kind"], late[0]["culprit"]), ("lossy_cable", "port p6 (host 6)"), late)
        self.assertEqual(run.summary["blame"], late)
        found = run.summary["diagnosis"]["findings"][:2]
        self.assertRegex(found[0], r"^to blame for job \S+: lossy cable, port p6 ")
        self.assertRegex(found[1], r"^to blame for job early: slow rank, rank 1 of job early ")
        page = (run.folder / "report.html").read_text(encoding="utf-8")
        self.assertRegex(page, r">Job</th>.*>To blame</th>")
        self.assertRegex(page, r"<td>early</td><td>slow rank</td><td>rank 1 of job early")

    def test_acknowledgements_that_are_lost_everywhere_are_named(self):
        config = job(random.Random(1), STAR)
        config["impairments"] = [{"action": "drop", "class": "ack", "transmissions": "all", "probability": "2%"}]
        run = self.call("simulate", config, "--twin")
        self.assertEqual(run.summary["diagnosis"]["losses"]["lost"], 0)
        blame = run.summary["blame"][0]
        self.assertEqual((blame["kind"], blame["culprit"]), ("lossy_cable", None))
        self.assertGreater(blame["share"], 0.5)
        self.assertRegex(blame["evidence"], r"^\d+ acknowledgements or other answers and no data packets were lost")

    def test_a_starved_loop_is_not_the_device(self):
        """Eight ports of 100 Gb/s in real time are more than a loop can serve."""
        for seed in range(2):
            config = job(random.Random(seed), STAR)
            run = self.call("run", config, out=f"starved{seed}")
            for entry in run.summary["blame"]:
                self.assertIn(entry["kind"], NOT_THE_DEVICE, run.summary["blame"])


if __name__ == "__main__":
    unittest.main()

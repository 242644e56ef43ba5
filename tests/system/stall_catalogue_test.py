"""A catalogue of stops: whatever is planted is named, with its class and its culprit.

Nearly all in virtual time, with retransmission timers of 4.3 s and ranks that may stand still for 0.3 s, so that nothing
fails by itself. What virtual time cannot have is a generator that stands still: a thread of it is stopped. Ranks that would
wait for each other by their traces alone are refused before the run, which is told of them in the same manner: a file, a node.

RANKWIRE_STALL_PLANTS says how many of each kind there are, 1 unless it is set.
"""

import collections
import ctypes
import dataclasses
import json
import os
import pathlib
import random
import time
import unittest

import chakra
from rankwire import FAILED, OK, USAGE, RankwireTest, Run, processor_seconds, rankwire, start, transformer, wait_for_operations

PLANTS = int(os.environ.get("RANKWIRE_STALL_PLANTS", "1"))
MIB = 1 << 20
ALL = {"transmissions": "all"}
LOSSLESS = {"lossless": [3], "buffer": {"xoff": "64KiB", "headroom": "64KiB"}}


@dataclasses.dataclass
class Plant:
    """A configuration that comes to a stop. `culprit`: a rank, or None for a circle or nobody."""

    config: dict
    stall: str
    culprit: int | None = None
    ways: tuple = ()  # any other rank that may be named: the other end of what is cut


def network(choose, ranks, **sections):
    """Ranks that stand behind a port each, by a switch or a fabric of switches."""
    fabric = choose.choice(({"topology": "star"}, {"topology": "leaf_spine", "leaves": 2, "spines": 2}))
    return {
        "seed": choose.randrange(1, 1 << 30),
        "hosts": {"count": ranks, "npus": 1},
        "ports": {"count": ranks, "rate": choose.choice(("100Gbps", "400Gbps"))},
        "fabric": fabric,
        "transport": {"timeout": 20, "mtu": choose.choice(("1024B", "4096B")), "window": 256},
        "run": {"stall_timeout": "300ms"},
    } | sections


class Traces:
    """Writes traces into a folder of their own."""

    def __init__(self, folder):
        self.folder = folder

    def of(self, nodes, groups=None):
        prefix = self.folder / "t"
        chakra.write_ranks(prefix, nodes)
        if groups is None:
            return {"traces": str(prefix)}
        (self.folder / "t.json").write_text(json.dumps(groups), encoding="utf-8")
        return {"traces": str(prefix), "groups": str(self.folder / "t.json")}

    def collective(self, choose, ranks):
        """One collective after which all ranks have heard of each, and how it is carried out."""
        kind, name, algorithm = choose.choice((
            (chakra.ALL_REDUCE, "all_reduce", "ring"),
            (chakra.ALL_REDUCE, "all_reduce", "halving_doubling"),
            (chakra.ALL_GATHER, "all_gather", "ring"),
            (chakra.ALL_TO_ALL, "all_to_all", "direct"),
            (chakra.REDUCE_SCATTER, "reduce_scatter", "ring"),
        ))
        size = ranks * choose.choice((MIB, 2 * MIB))
        node = chakra.collective(kind, size, id=choose.randrange(1, 9), name="planted")
        return {"workload": self.of([[node]] * ranks), "collectives": {"algorithms": {name: algorithm}}}

    def messages(self, choose, ranks):
        """Two messages of each rank to some other, each of a tag of its own. One of them: (source, destination, name)."""
        nodes, pairs = [[] for _ in range(ranks)], []
        for tag in range(2 * ranks):
            source = tag % ranks
            destination = choose.choice([rank for rank in range(ranks) if rank != source])
            how = {"comm_src": source, "comm_dst": destination, "comm_tag": 7 * tag, "comm_size": 64 << 10}
            nodes[source].append(chakra.Node(len(nodes[source]), f"send {tag}", chakra.SEND, attributes=how))
            nodes[destination].append(chakra.Node(len(nodes[destination]), f"receive {tag}", chakra.RECEIVE, attributes=how))
            pairs.append((source, destination, f"send {tag}"))
        return {"workload": self.of(nodes)}, choose.choice(pairs)


def ranks_of(choose):
    return choose.choice((4, 6, 8))


def dead_port(choose, traces):
    ranks = ranks_of(choose)
    rank = choose.randrange(ranks)
    rules = [{"action": "drop", "port": f"p{rank}", "direction": way} | ALL for way in ("transmit", "receive")]
    return Plant(network(choose, ranks, impairments=rules) | traces.collective(choose, ranks), "dead_peer", rank)


def cut_cable(choose, traces):
    ranks = ranks_of(choose)
    rank = choose.randrange(ranks)
    config = network(choose, ranks) | traces.collective(choose, ranks)
    config["fabric"]["failures"] = [{"a": f"p{rank}", "loss": "100%"}]
    return Plant(config, "dead_peer", rank)


def lost_message(choose, traces):
    """A point-to-point message is lost however often it is sent."""
    ranks = ranks_of(choose)
    sections, (source, destination, name) = traces.messages(choose, ranks)
    rule = {"action": "drop", "class": "data", "rank": source, "peer": destination, "operation": name} | ALL
    return Plant(network(choose, ranks, impairments=[rule]) | sections, "dead_peer", destination, (source,))


def mute_port(choose, traces):
    ranks = ranks_of(choose)
    rank = choose.randrange(ranks)
    rules = [{"action": "drop", "class": "ack", "port": f"p{rank}"} | ALL]
    return Plant(network(choose, ranks, impairments=rules) | traces.collective(choose, ranks), "lost_completion", rank)


def swallowed_completion(choose, traces):
    """Acknowledgements of one connection are dropped."""
    ranks = ranks_of(choose)
    sections, (source, destination, _) = traces.messages(choose, ranks)
    rule = {"action": "drop", "class": "ack", "rank": source, "peer": destination} | ALL
    return Plant(network(choose, ranks, impairments=[rule]) | sections, "lost_completion", destination, (source,))


def acknowledged_and_lost(choose, traces):
    """The source is told that a message has arrived, which is dropped in front of its receiver."""
    ranks = ranks_of(choose)
    sections, (source, destination, _) = traces.messages(choose, ranks)
    which = {"rank": source, "peer": destination} | ALL
    rules = [{"action": "forge_ack"} | which, {"action": "drop", "direction": "receive", "class": "data"} | which]
    return Plant(network(choose, ranks, impairments=rules) | sections, "lost_completion", destination, (source,))


def not_ready(choose, traces):
    """A rank has no room, ever, for what one other sends."""
    ranks = ranks_of(choose)
    sections, (source, destination, _) = traces.messages(choose, ranks)
    which = {"rank": source, "peer": destination} | ALL
    rules = [{"action": "forge_rnr"} | which, {"action": "drop", "direction": "receive", "class": "data"} | which]
    return Plant(network(choose, ranks, impairments=rules) | sections, "credit_shortage", destination)


def never_ready(choose, traces):
    """A rank has no room for anything."""
    ranks = ranks_of(choose)
    rank = choose.randrange(ranks)
    which = {"peer": rank} | ALL
    rules = [{"action": "forge_rnr"} | which, {"action": "drop", "direction": "receive", "class": "data"} | which]
    return Plant(network(choose, ranks, impairments=rules) | traces.collective(choose, ranks), "credit_shortage", rank)


def paused_port(choose, traces):
    """A port pauses the switch for good."""
    ranks = ranks_of(choose)
    rank = choose.randrange(ranks)
    config = network(choose, ranks) | traces.collective(choose, ranks)
    config["fabric"] |= LOSSLESS
    config["transport"]["mtu"] = "4096B"  # a window of them has no room in the fabric
    config["impairments"] = [{"action": "pause", "priorities": [3], "port": f"p{rank}", "interval": "80us"}]
    return Plant(config, "pfc_deadlock", rank)


def circle_of_switches(choose, traces):
    """Each rank sends to the one two switches on, and each cable of the circle waits for the next."""
    ranks = choose.choice((5, 6, 7))
    nodes = []
    for rank in range(ranks):
        ends = [("send", chakra.SEND, rank, (rank + 2) % ranks), ("receive", chakra.RECEIVE, (rank - 2) % ranks, rank)]
        nodes.append([chakra.Node(i, name, kind, attributes={"comm_src": a, "comm_dst": b, "comm_size": 8 * MIB})
                      for i, (name, kind, a, b) in enumerate(ends)])
    switches = [f"s{s}" for s in range(ranks)]
    config = network(choose, ranks) | {"workload": traces.of(nodes)}
    config["ports"]["rate"] = "40Gbps"
    config["fabric"] = LOSSLESS | {
        "topology": "graph",
        "link_rate": "10Gbps",
        "switches": switches,
        "links": [{"a": switches[s], "b": switches[(s + 1) % ranks]} for s in range(ranks)],
        "hosts": [{"port": f"p{s}", "switch": switches[s]} for s in range(ranks)],
    }
    return Plant(config, "pfc_deadlock", None, tuple(range(ranks)))


def taken_places(choose, traces):
    """Each rank begins what the next one holds back, round in a circle."""
    ranks = choose.choice((3, 4, 5))
    kind = choose.choice((chakra.ALL_REDUCE, chakra.ALL_GATHER, chakra.ALL_TO_ALL))
    groups = {f"g{i}": sorted((i, (i + 1) % ranks)) for i in range(ranks)}

    def node(group):
        return chakra.collective(kind, 4096, name=f"in g{group}", group=f"g{group}")

    nodes = [[node(rank), node((rank - 1) % ranks)] for rank in range(ranks)]
    for of_rank in nodes:
        for i, each in enumerate(of_rank):
            each.id = i + 1
    config = network(choose, ranks, concurrency={"communication": 1}) | {"workload": traces.of(nodes, groups)}
    return Plant(config, "concurrency_limit")


IN_VIRTUAL_TIME = (
    dead_port,
    cut_cable,
    lost_message,
    mute_port,
    swallowed_completion,
    acknowledged_and_lost,
    not_ready,
    never_ready,
    paused_port,
    circle_of_switches,
    taken_places,
)


def never_begun(choose, traces):
    """One rank has one collective less. What is refused, and what its error names: the rank's file and the group."""
    ranks = ranks_of(choose)
    rank = choose.randrange(ranks)
    nodes = [[chakra.collective(chakra.ALL_REDUCE, MIB, id=i, name=f"sum {i}") for i in (1, 2)] for _ in range(ranks)]
    nodes[rank].pop()
    return network(choose, ranks) | {"workload": traces.of(nodes)}, rf"t\.{rank}\.et|rank {rank}\b"


def other_collective(choose, traces):
    """One rank begins another collective than the others."""
    ranks = ranks_of(choose)
    rank = choose.randrange(ranks)
    nodes = [[chakra.collective(chakra.ALL_REDUCE, MIB, id=3, name="sum")] for _ in range(ranks)]
    nodes[rank] = [chakra.collective(chakra.ALL_GATHER, MIB, id=3, name="gather")]
    return network(choose, ranks) | {"workload": traces.of(nodes)}, r"all_gather.*all_reduce|all_reduce.*all_gather"


def messages_in_a_circle(choose, traces):
    """Each rank sends to the next one what it has received from the one before."""
    ranks = ranks_of(choose)
    length = choose.randrange(2, ranks + 1)
    nodes = []
    for rank in range(length):
        after, before = (rank + 1) % length, (rank - 1) % length
        received = {"comm_src": before, "comm_dst": rank, "comm_tag": before, "comm_size": 64}
        sent = {"comm_src": rank, "comm_dst": after, "comm_tag": rank, "comm_size": 64}
        nodes.append([
            chakra.Node(1, f"receive from {before}", chakra.RECEIVE, attributes=received),
            chakra.Node(2, f"send to {after}", chakra.SEND, [1], attributes=sent),
        ])
    nodes += [[chakra.Node(1, "computes", duration_us=10)] for _ in range(length, ranks)]
    text = rf't\.0\.et: node 1 "receive from {length - 1}": the ranks wait for each other: .*-> rank 0 node 1$'
    return network(choose, ranks) | {"workload": traces.of(nodes)}, text


BEFORE_THE_RUN = {"mismatched_collective": (never_begun, other_collective), "trace_cycle": (messages_in_a_circle,)}


class StoppedThread:
    """A thread of another process that stands still, all others going on: ptrace(2)."""

    SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, tid):
        self.tid = tid
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)

    def _ask(self, request):
        if self.libc.ptrace(request, self.tid, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def __enter__(self):
        self._ask(self.SEIZE)
        self._ask(self.INTERRUPT)
        os.waitpid(self.tid, self.WALL)
        return self

    def __exit__(self, *_):
        self._ask(self.DETACH)


def busiest_threads(pid, count):
    """Workers poll: they have used most of the processors' time."""
    used = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        used[int(task.name)] = processor_seconds(task)
    return sorted(sorted(used, key=used.get, reverse=True)[:count])


class StallCatalogue(RankwireTest):
    def traces(self, name):
        folder = self.folder / name
        folder.mkdir()
        return Traces(folder)

    def test_what_is_planted_is_named(self):
        named, wrong = collections.Counter(), []
        for kind in IN_VIRTUAL_TIME:
            for seed in range(PLANTS):
                name = f"{kind.__name__}{seed}"
                plant = kind(random.Random(name), self.traces(name))
                run = Run(self.folder / name / "run")
                process = rankwire("simulate", self.configuration(plant.config), "--twin", "--quiet", "--out", run.folder)
                self.assertIn(process.returncode, (OK, FAILED), f"{name}: {process.stderr}")
                stall = run.summary["stall"] or {"class": "nothing", "culprit": None}
                named[kind.__name__, stall["class"]] += 1
                is_right = stall["class"] == plant.stall and stall["culprit"] in (plant.culprit, *plant.ways)
                if not is_right or run.summary["verdict"] != "stalled":
                    wrong.append(f"{name}: {plant.stall} at {plant.culprit}, not {stall['class']} at {stall['culprit']}: "
                                 f"{run.summary['verdict']}: {run.summary['reason'][:600]}")
        print()
        for (kind, stall), count in named.items():
            print(f"{kind:<24}{stall:<24}{count:>4}")
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_what_would_never_end_is_refused(self):
        for stall, kinds in BEFORE_THE_RUN.items():
            for kind in kinds:
                for seed in range(PLANTS):
                    name = f"{kind.__name__}{seed}"
                    with self.subTest(stall=stall, plant=name):
                        config, text = kind(random.Random(name), self.traces(name))
                        process = rankwire("simulate", self.configuration(config), "--quiet", "--out", self.folder / "x")
                        self.assertEqual(process.returncode, USAGE, process.stdout + process.stderr)
                        self.assertRegex(process.stderr, text)

    def test_a_generator_that_stands_still_is_named(self):
        """One of two workers stops for longer than nothing may move; the other one goes on."""
        config = {
            "workload": {"generate": transformer(), "iterations": 600},  # a minute of the lines
            "hosts": {"count": 2, "npus": 4, "nics": 2},
            "ports": {"count": 4, "device": "memory", "rate": "1Gbps"},
            "transport": {"timeout": 20},
            "workers": {"count": 2},
            "run": {"stall_timeout": "400ms", "deadline": "600s"},
        }
        for seed in range(max(2, PLANTS)):
            with self.subTest(worker=seed % 2):
                stall = self.stall_of_a_stopped_worker(config, seed % 2, f"starved{seed}")
                self.assertEqual(stall, ("generator_starvation", None))

    def stall_of_a_stopped_worker(self, config, worker, name):
        folder = self.folder / name
        process = start("run", self.configuration(config), "--quiet", "--out", folder)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertGreater(wait_for_operations(process, folder), 0)
        workers = busiest_threads(process.pid, 2)
        other = pathlib.Path(f"/proc/{process.pid}/task/{workers[1 - worker]}")
        try:
            with StoppedThread(workers[worker]):
                # The other one must have noticed, however long it waits for a processor; then it ends, or sleeps until
                # this one ends as well.
                began, until = processor_seconds(other), time.monotonic() + 20
                time.sleep(1.2)
                while other.exists() and processor_seconds(other) - began < 0.1 and time.monotonic() < until:
                    time.sleep(0.05)
        except OSError as error:
            self.skipTest(f"a thread cannot be stopped: {error}")
        self.assertEqual(process.wait(600), FAILED)
        summary = Run(folder).summary
        self.assertEqual(summary["verdict"], "stalled", summary["reason"])
        return summary["stall"]["class"], summary["stall"]["culprit"]


if __name__ == "__main__":
    unittest.main()

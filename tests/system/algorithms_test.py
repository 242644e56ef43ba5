"""Every algorithm of every collective, checked byte by byte: in the twin, and over ring ports in real time."""

import unittest

import chakra
from rankwire import OK, USAGE, RankwireTest, rankwire, transformer

SIZE = 48 * 1024  # divided by 2, 3, 4, 6, 8 and their products without rest

KINDS = {
    "all_reduce": chakra.ALL_REDUCE,
    "reduce_scatter": chakra.REDUCE_SCATTER,
    "all_gather": chakra.ALL_GATHER,
    "broadcast": chakra.BROADCAST,
    "reduce": chakra.REDUCE,
    "all_to_all": chakra.ALL_TO_ALL,
    "gather": chakra.GATHER,
    "scatter": chakra.SCATTER,
}
ROOTED = ("broadcast", "reduce", "gather", "scatter")


def subtrees(n):
    """Sizes of the subtrees below the root of a binomial tree: of member v, up to v's lowest bit, cut off at n."""
    return [min(v & -v, n - v) for v in range(1, n)]


def inputs_sent(operation, algorithm, n):
    """What all n members together send, in inputs of one member. Each data is counted once for every hop."""
    k = n.bit_length() - 1
    p, extras = 1 << k, n - (1 << k)
    if operation == "all_reduce":
        if algorithm == "recursive_doubling":  # every vertex in k steps; to and from the extra members
            return p * k + 2 * extras
        if algorithm == "halving_doubling_elimination":  # two halves are exchanged, one handed over, and the sum
            return 2 * (p - 1) + 2.5 * extras
        return 2 * (n - 1)  # every block is summed and spread along n - 1 edges
    if operation == "reduce":
        if algorithm.startswith("halving_doubling"):  # scattered by halves, gathered in k levels of half an input
            return p - 1 + k / 2 + extras * (1.5 if algorithm.endswith("elimination") else 1)
        return n - 1
    if operation == "reduce_scatter":
        if algorithm == "recursive_halving":  # extra members send all and get a part
            return p - 1 + extras * (1 + 1 / n)
        return n - 1
    if operation == "all_gather":
        if algorithm == "recursive_doubling" and extras > 0:
            # Of 6 members the vertices have blocks 2, 2, 1, 1: 6 for the first step, 4 + 4 + 2 + 2 pairs of them for
            # the second, one block from and five to either extra member.
            assert n == 6
            return 6 + 12 + extras * (1 + 5)
        return n * (n - 1)
    if operation == "all_to_all":
        if algorithm == "bruck":  # over distance d as many hops as d has bits
            return sum(bin(d).count("1") for d in range(1, n))
        return n - 1
    if algorithm == "binomial_tree" and operation == "gather":
        return sum(subtrees(n))
    if algorithm == "binomial_tree" and operation == "scatter":
        return sum(subtrees(n)) / n
    return (n - 1) / (n if operation == "scatter" else 1)


ALGORITHMS = {
    "all_reduce": (
        "ring",
        "double_binary_tree",
        "halving_doubling",
        "halving_doubling_elimination",
        "recursive_doubling",
        "direct",
    ),
    "reduce_scatter": ("ring", "recursive_halving", "pat", "direct"),
    "all_gather": ("ring", "recursive_doubling", "bruck", "pat", "direct"),
    "broadcast": ("ring", "binomial_tree"),
    "reduce": ("ring", "binomial_tree", "halving_doubling", "halving_doubling_elimination"),
    "all_to_all": ("direct", "pairwise", "bruck"),
    "gather": ("direct", "binomial_tree"),
    "scatter": ("direct", "binomial_tree"),
}
BY_HOST = {
    "all_reduce": ("hierarchical",),
    "reduce_scatter": ("hierarchical",),
    "all_gather": ("hierarchical",),
    "all_to_all": ("hierarchical", "pxn"),
}


class Algorithms(RankwireTest):
    def traces(self, operations, ranks):
        """One collective of each of the operations after the other."""
        nodes = []
        for i, operation in enumerate(operations):
            root = ranks // 2 if operation in ROOTED else None
            after = [i - 1] if i > 0 else []
            nodes.append(chakra.collective(KINDS[operation], SIZE, id=i, after=after, name=operation, root=root))
        prefix = self.folder / f"of{ranks}.{'.'.join(operations)}"
        chakra.write_ranks(prefix, [nodes] * ranks)
        return str(prefix)

    def config(self, operations, ranks, hosts, algorithms, device="memory", **collectives):
        return {
            "workload": {"traces": self.traces(operations, ranks)},
            "hosts": {"count": hosts, "npus": ranks // hosts},
            "mapping": {"policy": "block"},
            "ports": {"count": hosts, "rate": "10Gbps", "device": device},
            "transport": {"checking": True, "timeout": 13},
            "collectives": {"algorithms": algorithms, "chunk": "16KiB"} | collectives,
            "run": {"deadline": "120s"},
        }

    def test_bytes_are_those_of_the_definition(self):
        for operation, algorithms in ALGORITHMS.items():
            for algorithm in algorithms:
                for ranks in (4, 6):
                    with self.subTest(operation=operation, algorithm=algorithm, ranks=ranks):
                        config = self.config([operation], ranks, ranks, {operation: algorithm})
                        run = self.call("simulate", config, "--twin", out=f"{operation}.{algorithm}.{ranks}")
                        self.assert_delivered(run)
                        self.assertEqual(run.summary["bytes_wire"], SIZE * inputs_sent(operation, algorithm, ranks))

    def test_overlapping_groups_of_a_training_step(self):
        # Groups of two, every rank in several: there all algorithms of an all-reduce send 2 (n - 1) inputs.
        sent = set()
        for algorithm in ALGORITHMS["all_reduce"] + BY_HOST["all_reduce"]:
            config = {
                "workload": {"generate": transformer()},
                "ports": {"count": 8, "device": "memory"},
                "collectives": {"algorithms": {"all_reduce": algorithm}},
            }
            run = self.call("simulate", config, out=algorithm)
            self.assertEqual(run.summary["verdict"], "ok", run.summary["reason"])
            sent.add(run.summary["bytes_wire"])
        self.assertEqual(len(sent), 1, sent)

    def test_hosts_send_each_other_what_they_must(self):
        ranks, hosts = 8, 4
        m = ranks // hosts
        # Between hosts: a ring of hosts for each of m columns; all-to-all sends what is for other hosts once. Within:
        # parts to the neighbours and results back; all-to-all everything but what a member keeps or sends itself.
        wire = {
            "all_reduce": 2 * (hosts - 1),
            "reduce_scatter": hosts - 1,
            "all_gather": ranks * (hosts - 1),
            "all_to_all": ranks - m,
        }
        local = {
            "all_reduce": 2 * hosts * (m - 1),
            "reduce_scatter": hosts * (m - 1),
            "all_gather": ranks * (m - 1) * hosts,
            "all_to_all": hosts * (m - 1),
        }
        for operation, algorithms in BY_HOST.items():
            for algorithm in algorithms:
                with self.subTest(operation=operation, algorithm=algorithm):
                    config = self.config([operation], ranks, hosts, {operation: algorithm})
                    run = self.call("simulate", config, "--twin", out=f"{operation}.{algorithm}")
                    self.assert_delivered(run)
                    self.assertEqual(run.summary["bytes_wire"], SIZE * wire[operation])
                    self.assertEqual(run.summary["bytes_local"], SIZE * local[operation])

    def test_a_ring_both_ways_sends_as_much_as_one(self):
        ring = {"order": "listed", "ranks": [2, 0, 3, 1], "direction": "bidirectional"}
        config = self.config(["all_reduce"], 4, 4, {"all_reduce": "ring"}, ring=ring)
        run = self.call("simulate", config, "--twin")
        self.assert_delivered(run)
        self.assertEqual(run.summary["bytes_wire"], SIZE * 6)
        forward = set(zip("2031", "0312"))
        pairs = {(row["source"], row["destination"]) for row in run.rows("flows")}
        self.assertEqual(pairs, forward | {(b, a) for a, b in forward})

    def own_all_gather(self, ranks, missing=None):
        """Files in which member m sends every chunk that it has to the member ahead, as a ring."""
        members = []
        for m in range(ranks):
            nodes = []
            for step in range(ranks - 1):
                mine, theirs = (m - step) % ranks, (m - step - 1) % ranks
                to = {"comm_dst": (m + 1) % ranks, "comm_tag": step, "chunk": mine}
                of = {"comm_src": (m - 1) % ranks, "comm_tag": step, "chunk": theirs}
                after = [2 * step - 1] if step > 0 and m != missing else []
                nodes.append(chakra.Node(2 * step, "send", chakra.SEND, after, 0, to))
                nodes.append(chakra.Node(2 * step + 1, "receive", chakra.RECEIVE, [], 0, of))
            members.append(nodes)
        (self.folder / "own").mkdir(exist_ok=True)
        chakra.write_ranks(self.folder / "own/ring", members, {"collective": "all_gather", "chunks": ranks})

    def test_an_algorithm_of_ones_own(self):
        self.own_all_gather(4)
        config = self.config(["all_gather"], 4, 4, {"all_gather": "own/ring"})
        run = self.call("simulate", config, "--twin", out="own_run")
        self.assert_delivered(run)
        self.assertEqual(run.summary["bytes_wire"], SIZE * 12)
        # A group of another size takes the default.
        config = self.config(["all_gather"], 6, 6, {"all_gather": "own/ring"})
        process = rankwire("simulate", self.configuration(config), "--out", self.folder / "other")
        self.assertEqual(process.returncode, OK, process.stderr)
        self.assertIn("own/ring describes groups of 4; groups of 6 take the default", process.stdout + process.stderr)

    def test_a_wrong_algorithm_of_ones_own_is_refused(self):
        self.own_all_gather(4, missing=2)
        config = self.configuration(self.config(["all_gather"], 4, 4, {"all_gather": "own/ring"}))
        self.assert_one_line_error(rankwire("check", config), USAGE, "own/ring: member 2, chunk 1: is sent to member 3")
        config = self.configuration(self.config(["all_gather"], 4, 4, {"all_reduce": "own/ring"}))
        self.assert_one_line_error(rankwire("check", config), USAGE, "describes 'all_gather', not 'all_reduce'")
        (self.folder / "own/ring.3.et").unlink()
        config = self.configuration(self.config(["all_gather"], 4, 4, {"all_gather": "own/ring"}))
        self.assert_one_line_error(rankwire("check", config), USAGE, "comm_src 3 is outside 0 .. 2")

    def test_in_real_time_over_ring_ports(self):
        choices = [
            {"all_reduce": "double_binary_tree", "all_gather": "bruck", "all_to_all": "pxn"},
            {"all_reduce": "halving_doubling", "all_gather": "pat", "all_to_all": "bruck", "broadcast": "binomial_tree"},
            {"all_reduce": "hierarchical", "all_gather": "hierarchical", "all_to_all": "hierarchical"},
        ]
        for i, algorithms in enumerate(choices):
            with self.subTest(**algorithms):
                config = self.config(list(KINDS), 8, 4, algorithms, device="ring")
                self.assert_delivered(self.call("run", config, out=f"run{i}"))


if __name__ == "__main__":
    unittest.main()

"""What the kernel sends for rankwire's queue pairs, as packets between the guest's soft-RoCE device and a DPDK port:
each setting of a queue pair is seen on the wire, and a packet sent with another value of it is found.

Every run is judged by its own settings and, setting by setting, by those of the other, which must be refused: the same
as a transport that passes the wrong one on.
"""

import collections
import dataclasses
import ipaddress
import json
import statistics
import unittest

import capture
from capture import Wrong
from rankwire_guest import NETWORKS, RANKS, MixedTest, Workload, chakra, collectives, rankwire

SIZE = 200_003  # of the all-to-all's input: parts of 25,001 and 25,000 bytes
PARTS = [SIZE // RANKS + (rank < SIZE % RANKS) for rank in range(RANKS)]


@dataclasses.dataclass(frozen=True)
class Settings:
    """Of the queue pairs of the RDMA device."""

    source_port: int
    dscp: int
    ecn: bool
    mtu: int
    max_message: int

    def keys(self):
        return {"source_port": self.source_port, "dscp": self.dscp, "ecn": self.ecn,
                "verbs": {"max_message": f"{self.max_message}B"}}

    @property
    def traffic_class(self):
        return self.dscp << 2 | (2 if self.ecn else 0)  # ECT(0): RFC 3168


ONE = Settings(source_port=0xC123, dscp=26, ecn=True, mtu=1024, max_message=10_000)
# 0xC000 takes a label other than 0, which leaves the choice to the kernel.
OTHER = Settings(source_port=0xC000, dscp=10, ecn=False, mtu=4096, max_message=7_000)


@dataclasses.dataclass(frozen=True)
class Flow:
    """The queue pairs of a connection from a rank behind the RDMA device to one behind the DPDK port."""

    source: int
    destination: int
    source_qp: int
    destination_qp: int


def expect(what, seen, wanted):
    if seen != wanted:
        raise Wrong(f"{what} {seen} instead of {wanted}")


def judge(packets, flows, kernels, settings):
    """`kernels`: the addresses of the RDMA device. Raises Wrong."""
    sent = [p for p in packets if p.source in kernels]
    expect("source ports", {p.source_port for p in sent}, {settings.source_port})
    expect("traffic classes", {p.type_of_service for p in sent}, {settings.traffic_class})
    # Linux takes the route's, whatever the queue pair says (ib_resolve_unicast_gid_dmac in drivers/infiniband/core).
    expect("hop limits", {p.time_to_live for p in sent}, {64})
    for flow in flows:
        there = [p for p in sent if p.destination_qp == flow.destination_qp and not capture.is_answer(p)]
        back = [p for p in packets if p.destination_qp == flow.source_qp and capture.is_answer(p)]
        done = capture.operations(there, back, there[0].psn, settings.mtu)
        # The last of the work requests names the message, the first of its connection.
        whole, rest = divmod(PARTS[flow.destination], settings.max_message)
        lengths = [settings.max_message] * whole + [rest]
        wanted = [(capture.WRITE, length, None) for length in lengths[:-1]] + [(capture.WRITE, lengths[-1], 0)]
        expect(f"work requests of {flow}", [(o.verb, len(o.payload), o.immediate) for o in done], wanted)


def judge_retries(times, retry_count, timeout):
    """`times`: when a packet that nobody answered was sent. Raises Wrong."""
    expect("transmissions", len(times), retry_count + 1)
    nominal = 4.096e-6 * 2**timeout  # IBTA 9.7.6.1.3: the time-out is up to four times that
    gap = statistics.median(later - earlier for earlier, later in zip(times, times[1:]))
    # The kernel counts in ticks of 4 ms.
    if not nominal - 0.008 <= gap < 4 * nominal:
        raise Wrong(f"sent again after {gap:.3f} s with a time-out of {nominal:.3f} s")


class Wire(MixedTest):
    @classmethod
    def make_network(cls, guest):
        super().make_network(guest)
        cls.workload = collectives(guest, "all_to_all", (chakra.ALL_TO_ALL, SIZE))

    def captured_run(self, family, settings):
        with self.guest.captured() as packets:
            run = self.run_in_guest(self.config(self.workload, family, settings.mtu, **settings.keys()))
        self.assert_delivered(run)
        flows = [Flow(*(int(row[key]) for key in ("source", "destination", "source_qp", "destination_qp")))
                 for row in run.rows("flows", fidelity="emulated", path="wire")]
        flows = [flow for flow in flows if flow.source % 2 == 0 and flow.destination % 2 == 1]
        self.assertEqual(len(flows), (RANKS // 2) ** 2)
        kernels = {address.split("/")[0] for address in NETWORKS[family][0]}
        return [packet for _, packet in packets], flows, kernels

    def test_settings(self):
        for family, own, other in (("IPv4", ONE, OTHER), ("IPv6", OTHER, ONE)):
            with self.subTest(family=family, settings=own):
                seen = self.captured_run(family, own)
                judge(*seen, own)
                refused = []
                for field in dataclasses.fields(Settings):
                    mutation = dataclasses.replace(own, **{field.name: getattr(other, field.name)})
                    with self.assertRaises(Wrong, msg=field.name):
                        judge(*seen, mutation)
                    refused.append(field.name)
                self.table.append((f"{len(seen[0])} packets over {family}, refused with another", ", ".join(refused)))

    def test_the_kernels_own_source_ports(self):
        with self.guest.captured() as packets:
            run = self.run_in_guest(self.config(self.workload, source_port="linux"))
        flows = run.rows("flows", fidelity="emulated", path="wire")
        peers = {int(row["destination_qp"]): int(row["source_qp"]) for row in flows}
        seen = [(p.source_port, p.destination_qp) for _, p in packets if p.destination_qp in peers]
        self.assertGreater(len(seen), 0)
        for port, qp in seen:
            self.assertEqual(port, capture.source_port(qp, peers[qp]))

    def test_retries(self):
        """Rank 1's packets never arrive. The queue pairs that speak with it give up, and all others go on."""
        silent = self.address_of_rank_1()
        seen = {}
        for retry_count, timeout in ((1, 18), (4, 15)):
            with self.guest.silenced(silent), self.guest.captured() as packets:
                config = self.config(self.workload, retry_count=retry_count, timeout=timeout)
                config["run"] |= {"on_failure": "continue"}
                run = self.run_in_guest(config, status=rankwire.FAILED)
            self.check_failures(run)
            seen[retry_count, timeout] = self.transmissions(packets, silent)
        for settings, runs in seen.items():
            for times in runs:
                judge_retries(times, *settings)
                for retry_count, timeout in seen:
                    mutations = {(retry_count, settings[1]), (settings[0], timeout)} - {settings}
                    for mutation in mutations:
                        with self.assertRaises(Wrong):
                            judge_retries(times, *mutation)
            self.table.append((f"retry_count {settings[0]}, timeout {settings[1]}",
                               *(f"{len(times)} sent" for times in runs)))

    def address_of_rank_1(self):
        # The second of rankwire's own: the first would be the one of rank 0.
        return str(ipaddress.ip_interface(NETWORKS["IPv4"][1]).ip + 1)

    def transmissions(self, packets, silent):
        """When the first packet to each queue pair of the silent rank was sent."""
        times = collections.defaultdict(list)
        first = {}
        for at, packet in packets:
            if packet.destination == silent:
                if first.setdefault(packet.destination_qp, packet.psn) == packet.psn:
                    times[packet.destination_qp].append(at)
        self.assertEqual(len(times), RANKS // 2)
        return list(times.values())

    def check_failures(self, run):
        """What a user is told: status, vendor error, queue pair, ranks, operation."""
        failures = {(f["source"], f["destination"]): f for f in run.summary["failures"]}
        even = range(0, RANKS, 2)
        self.assertEqual(sorted(failures), sorted([(rank, 1) for rank in even] + [(1, rank) for rank in even]))
        qps = {(int(row["source"]), int(row["destination"])): row["source_qp"]
               for row in run.rows("flows", fidelity="emulated", path="wire")}
        for rank in even:
            failure = failures[rank, 1]
            self.assertIn("collective", failure["operation"])
            # IBV_WC_RETRY_EXC_ERR of infiniband/verbs.h
            retries = "transport retry counter exceeded (status 12, vendor error"
            for text in (f"{int(qps[rank, 1]):#x} of rxe0", retries):
                self.assertIn(text, failure["state"])
        first = run.summary["failures"][0]
        self.assertIn(first["state"], run.summary["reason"])
        # 56 messages. Those from rank 1 to the other side do not arrive; those to it do, but are not acknowledged.
        self.assertEqual(run.transport["messages_delivered"], RANKS * (RANKS - 1) - RANKS // 2)
        self.assertEqual(run.transport["messages_failed"], RANKS)

    def test_stop(self):
        """The others sum, then rank 0 deals out to all. Rank 1 does not acknowledge its part, and that ends the run."""
        workload = self.sum_and_deal()
        whole = self.run_in_guest(self.config(workload))
        self.assert_delivered(whole)
        self.assertEqual(whole.summary["bytes"], workload.bytes)
        config = self.config(workload, retry_count=1, timeout=18)
        config["run"] |= {"on_failure": "stop"}
        with self.guest.silenced(self.address_of_rank_1()):
            run = self.run_in_guest(config, status=rankwire.FAILED)
        self.check_reason(run)
        self.check_kept(run, whole)

    def sum_and_deal(self):
        ranks = []
        for rank in range(RANKS):
            first = [] if rank == 1 else [chakra.collective(chakra.ALL_REDUCE, SIZE, id=1, name="sum", group="others")]
            after = [node.id for node in first]
            ranks.append(first + [chakra.collective(chakra.SCATTER, SIZE, id=2, after=after, name="deal", root=0)])
        chakra.write_ranks(self.guest.share / "stop", ranks)
        groups = {"others": [rank for rank in range(RANKS) if rank != 1]}
        (self.guest.share / "groups.json").write_text(json.dumps(groups), encoding="utf-8")
        # 6 passes of the sum's input, twice, and all parts but one.
        moved = 2 * (RANKS - 2) * SIZE + SIZE - PARTS[0]
        return Workload("stop", {"traces": "/share/stop", "groups": "/share/groups.json"}, moved)

    def check_reason(self, run):
        self.assertEqual(run.summary["verdict"], "failed")
        (failure,) = run.summary["failures"]
        self.assertEqual([failure[key] for key in ("source", "destination", "operation")], [0, 1, "deal"])
        (flow,) = run.rows("flows", fidelity="emulated", source="0", destination="1")
        queue_pair = f"{int(flow['source_qp']):#x} of rxe0"
        status = "transport retry counter exceeded (status 12, vendor error"  # IBV_WC_RETRY_EXC_ERR
        for text in (queue_pair, status):
            self.assertIn(text, failure["state"])
        for text in ("rank 0 -> 1", "retry count exceeded", "deal", queue_pair, status):
            self.assertIn(text, run.summary["reason"])
        self.assertEqual(run.transport["messages_failed"], 1)
        self.assertEqual(run.summary["transport_details"]["status_retry_exceeded"], 1)

    def check_kept(self, run, whole):
        """What was measured until then, in the files of `whole`, a run that succeeded, and why it ended."""
        files, of_whole = ({path.name for path in one.folder.iterdir()} for one in (run, whole))
        self.assertEqual(files, of_whole | {"stalls.json"})
        self.assertTrue((run.folder / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>"))
        self.assertEqual(run.summary["bytes"], whole.summary["bytes"])
        for table, keys in (
            ("operations", ("rank", "node", "name", "bytes", "reference_end_ps")),
            ("flows", ("fidelity", "connection", "source", "destination", "member")),
            ("ranks", ("fidelity", "rank", "port", "ip")),
            ("ports", ("fidelity", "name")),
            ("hardware", ("fidelity", "port_name", "name")),
        ):
            rows, wanted = ([[row[key] for key in keys] for row in r.rows(table)] for r in (run, whole))
            self.assertEqual(rows, wanted, table)
        (counter,) = run.rows("hardware", name="hw_counters.retry_exceeded_err")
        self.assertEqual(int(counter["change"]), 1)
        # Rank 0 could deal only after its sum, which takes 2 x 6 messages of its predecessor among the seven.
        ends = {row["name"]: row["emulated_end_ps"] for row in run.rows("operations", rank="0")}
        self.assertGreater(int(ends["sum"]), 0)
        self.assertEqual(ends["deal"], "")
        (flow,) = run.rows("flows", fidelity="emulated", source="7", destination="0")
        self.assertEqual((int(flow["messages"]), int(flow["completed"])), (2 * (RANKS - 2), 2 * (RANKS - 2)))
        self.table.append(("stopped by a dead queue pair", f"{run.transport['messages_sent']} sent",
                           f"of {run.summary['messages']}"))


if __name__ == "__main__":
    unittest.main()

"""Which packets a rule of `impairments` chooses: each of its conditions alone, against the frames that entered the switch.

Four ranks carry out two operations twice, `grads` and `acts`: all-gathers of 64 KiB a rank by a ring, so that each rank
sends three messages of 16 packets of 4096 B an operation to the next one, one a step. The action is a CE mark, which changes
nothing else without congestion control: the captured frames show which packets have it. Virtual time, but where a test
says otherwise.
"""

import collections
import unittest

import chakra
import pcapng
from rankwire import RankwireTest

RANKS, STEPS, PACKETS, MTU = 4, 3, 16, 4096
OPERATIONS, ITERATIONS = ("grads", "acts"), 2
MESSAGES = len(OPERATIONS) * ITERATIONS * RANKS * STEPS
CONGESTION_EXPERIENCED = 3
ACKNOWLEDGE = 0x11  # InfiniBand Architecture 1.7, table 38
OPCODES = {6: "WRITE_FIRST", 7: "WRITE_MIDDLE", 9: "WRITE_LAST_IMMEDIATE", ACKNOWLEDGE: "ACKNOWLEDGE"}


class Selection(RankwireTest):
    def run_with(self, rule, out, seed=1, verb="simulate"):
        prefix = self.folder / "gathers"
        nodes = [
            chakra.collective(chakra.ALL_GATHER, PACKETS * MTU, id=i, name=name, after=range(i))
            for i, name in enumerate(OPERATIONS)
        ]
        chakra.write_ranks(prefix, [nodes] * RANKS)
        config = {
            "seed": seed,
            "workload": {"traces": str(prefix), "iterations": ITERATIONS},
            "collectives": {"algorithms": {"all_gather": "ring"}},
            "hosts": {"count": RANKS, "npus": 1},
            "ports": {"count": RANKS, "rate": "10Gbps"},
            "transport": {"checking": True},
            "record": {"capture": "16MiB"},
            "impairments": [{"action": "mark_ce"} | rule],
        }
        run = self.call(verb, config, *(["--twin"] if verb == "simulate" else []), out=out)
        self.assert_delivered(run)
        if verb == "simulate":
            self.assertEqual(run.transport["retransmitted"], 0)
        return run

    def frames(self, run):
        """Every frame that entered the switch, as (source, destination, opcode, marked, time in ps)."""
        _, packets = pcapng.read(run.folder / "capture.pcapng")
        addresses = {row["ip"]: int(row["rank"]) for row in run.rows("ranks")}
        for packet in packets:
            frame = packet.data
            if packet.direction != pcapng.INBOUND or frame[12:14] != b"\x08\x00":
                continue
            source, destination = (addresses[".".join(map(str, frame[at : at + 4]))] for at in (26, 30))
            yield source, destination, frame[42], frame[15] & 3 == CONGESTION_EXPERIENCED, packet.time

    def choose(self, rule, out="run", **how):
        """The events of the record, after they were found in the captured frames: as many from each rank, of the same
        opcodes in the same order."""
        run = self.run_with(rule, out, **how)
        events = run.rows("impairments")
        self.assertEqual([entry["done"] for entry in run.summary["impairments"]["rules"]], [len(events)])
        seen = collections.defaultdict(list)
        for source, _, opcode, marked, _ in self.frames(run):
            if marked:
                seen[source].append(OPCODES[opcode])
        told = collections.defaultdict(list)
        for event in events:
            # An answer comes from the destination of the message.
            told[int(event["destination" if event["opcode"] == "ACKNOWLEDGE" else "source"])].append(event["opcode"])
        self.assertEqual(told, seen)
        return events

    def test_conditions_choose_the_packets_that_they_name(self):
        data = MESSAGES * PACKETS
        for name, rule, expected, holds in (
            ("everything", {}, data, lambda e: True),
            ("job", {"job": 0}, data, lambda e: "job 0" in e["message"]),
            ("rank", {"rank": 2}, data // RANKS, lambda e: (e["source"], e["destination"]) == ("2", "3")),
            ("peer", {"peer": 2}, data // RANKS, lambda e: (e["source"], e["destination"]) == ("1", "2")),
            ("port", {"port": "p3"}, data // RANKS, lambda e: e["port_name"] == "p3" and e["source"] == "3"),
            ("operation", {"operation": "gra*"}, data // 2, lambda e: e["operation"] == "grads"),
            ("step", {"step": 1}, data // STEPS, lambda e: "step 1" in e["message"]),
            ("iteration", {"iteration": 1}, data // ITERATIONS, lambda e: "iteration 1 " in e["message"]),
            ("packet", {"packet": 5}, MESSAGES, lambda e: (e["packet"], e["opcode"]) == ("5", "WRITE_MIDDLE")),
            ("last", {"packet": "last"}, MESSAGES, lambda e: (e["packet"], e["opcode"]) == ("15", "WRITE_LAST_IMMEDIATE")),
            ("every", {"every": 7}, data // 7, lambda e: True),
            ("count", {"count": 9}, 9, lambda e: True),
            (
                "all_at_once",
                {"rank": 1, "peer": 2, "operation": "acts", "step": 2, "iteration": 0, "packet": 3},
                1,
                lambda e: e["operation"] == "acts",
            ),
        ):
            with self.subTest(name):
                events = self.choose({"class": "data"} | rule, out=name)
                self.assertEqual(len(events), expected)
                self.assertTrue(all(map(holds, events)))

    def test_in_real_time_too(self):
        """On DPDK ports; what is sent again in a loop that was late is not chosen again."""
        rule = {"class": "data", "operation": "acts", "step": 1, "packet": 5}
        events = self.choose(rule, out="real", verb="run")
        self.assertEqual(len(events), ITERATIONS * RANKS)
        self.assertTrue(all(e["operation"] == "acts" and "step 1" in e["message"] and e["packet"] == "5" for e in events))

    def test_opcodes(self):
        """Kinds of packets: what carries data, and what answers it."""
        events = self.choose({"class": "any"}, out="any")
        by_opcode = collections.Counter(event["opcode"] for event in events)
        answers = by_opcode.pop("ACKNOWLEDGE")
        self.assertEqual(
            by_opcode, {"WRITE_FIRST": MESSAGES, "WRITE_MIDDLE": MESSAGES * (PACKETS - 2), "WRITE_LAST_IMMEDIATE": MESSAGES}
        )
        acknowledgements = self.choose({"class": "ack"}, out="ack")
        self.assertEqual({event["opcode"] for event in acknowledgements}, {"ACKNOWLEDGE"})
        self.assertEqual(len(acknowledgements), answers)
        # Of the messages from rank 0 alone: those that rank 1 sends.
        of_one = self.choose({"class": "ack", "rank": 0}, out="ack_of_one")
        self.assertEqual({(event["port_name"], event["source"]) for event in of_one}, {("p1", "0")})
        self.assertEqual(len(of_one), answers // RANKS)

    def test_probability(self):
        data = MESSAGES * PACKETS
        rule = {"class": "data", "probability": "25%"}
        runs = [self.choose(rule, out=out, seed=seed) for out, seed in (("a", 5), ("b", 5), ("c", 6))]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])
        # Binomial: 192 of 768 with a standard deviation of 12; five of them.
        for events in runs:
            self.assertLess(abs(len(events) - data // 4), 60)
        self.assertEqual(self.choose({"class": "data", "probability": "0%"}, out="never"), [])

    def test_time_window(self):
        """All packets take as long from their port into the switch, so the captured frames are those of one window, too."""
        begin, end = 300_000_000, 500_000_000
        rule = {"class": "data", "rank": 0, "from": f"{begin}ps", "until": f"{end}ps"}
        run = self.run_with(rule, "window")
        events = [int(event["time_ps"]) for event in run.rows("impairments")]
        frames = [
            (time, is_marked)
            for source, _, opcode, is_marked, time in self.frames(run)
            if source == 0 and opcode != ACKNOWLEDGE
        ]
        marked = [time for time, is_marked in frames if is_marked]
        self.assertEqual(len(marked), len(events))
        self.assertGreater(len(events), PACKETS)
        self.assertTrue(all(begin <= time < end for time in events))
        # The first packet of a message is 16 bytes longer, of the RETH: 12.8 ns.
        late = {time - event for time, event in zip(marked, events)}
        self.assertLessEqual(max(late) - min(late), 12_800)
        for time, is_marked in frames:
            if not is_marked:
                self.assertFalse(begin <= time - max(late) and time - min(late) < end, time)

    def test_the_time_window_of_nothing(self):
        self.assertEqual(self.choose({"class": "data", "from": "10s"}), [])


if __name__ == "__main__":
    unittest.main()

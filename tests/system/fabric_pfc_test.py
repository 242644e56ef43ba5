"""Priority flow control in whole runs over a fabric, in virtual time: what it saves, what it costs, and how it ends."""

import unittest

import chakra
from rankwire import FAILED, RankwireTest

KIB, MIB = 1 << 10, 1 << 20
MTU_LINE = 4178  # bytes of a full packet on the line, 4154 without FCS, preamble and gap
DATA, ANSWERS = 3, 6  # DSCP 26 and 48


def marked():
    """Data in priority 3, everything else in priority 6."""
    return {kind: {"dscp": 48} for kind in ("ack", "nak", "cnp")} | {"data": {"dscp": 26}}


class FabricTest(RankwireTest):
    def ports(self, run, column):
        return {row["name"]: int(row[column]) for row in run.rows("ports") if "." in row["name"]}

    def queues(self, run, column, **where):
        return sum(int(row[column]) for row in run.rows("queues", **where))


class Incast(FabricTest):
    """Sixteen ranks send a MiB each, with windows of 64 packets, to one behind the same switch."""

    SENDERS, RATE, LINK_PS, SWITCH_PS = 16, 10, 2_000_000, 1_000_000

    def headroom(self):
        """What may still arrive at an input port after it has decided to send XOFF, in bytes.

        The PFC frame waits for a frame on the line and takes 84 bytes of it; the line both ways; the frame that the host
        has begun when it hears; what is in the switch, in whole, and has not come to its queue yet; and the frame whose
        arrival decided.
        """
        byte_ps = 8000 // self.RATE
        silent = 2 * self.LINK_PS + 2 * MTU_LINE * byte_ps + 84 * byte_ps + self.SWITCH_PS
        return silent // byte_ps + MTU_LINE

    def run_with(self, headroom, out):
        ranks = self.SENDERS + 1
        prefix = self.folder / "gather"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.GATHER, MIB)]] * ranks)
        config = {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": ranks, "npus": 1},
            "ports": {"count": ranks, "rate": f"{self.RATE}Gbps"},
            "switch": {"latency": f"{self.SWITCH_PS}ps", "link_latency": f"{self.LINK_PS}ps"},
            "fabric": {
                "topology": "star",
                "lossless": [DATA],
                "buffer": {"shared": "2MiB", "xoff": "32KiB", "resume_offset": "8KiB", "headroom": f"{headroom}B"},
            },
            "transport": {"checking": True, "markings": marked(), "timeout": 12},
            "record": {"fabric_interval": "10us"},
        }
        run = self.call("simulate", config, "--twin", out=out)
        self.assert_delivered(run)
        return run

    def test_headroom_by_the_formula_loses_nothing(self):
        run = self.run_with(self.headroom(), "with")
        dropped = sum(self.ports(run, "dropped").values())
        pauses = sum(self.ports(run, "pause_tx").values())
        print(f"headroom {self.headroom()} B: {pauses} PFC frames, {dropped} frames dropped")
        self.assertEqual(dropped, 0)
        for name in ("retransmitted", "naks", "timeouts"):
            self.assertEqual(run.transport[name], 0, name)
        # Every sender was paused, in the priority of data alone, and the generator heard what the switch said.
        self.assertGreater(pauses, 2 * self.SENDERS)
        self.assertEqual(run.transport["pause_rx"], pauses)
        paused = [row for row in run.rows("ports") if row["name"] in {f"p{p}" for p in range(1, self.SENDERS + 1)}]
        self.assertEqual(len(paused), self.SENDERS)
        for row in paused:
            self.assertGreater(int(row[f"paused_{DATA}_ps"]), 0)
            self.assertEqual([row[f"paused_{p}_ps"] for p in range(8) if p != DATA], ["0"] * 7)
        # XOFF was sent for the priority of data, at the senders' ports: first ones, not repetitions.
        asked = self.queues(run, "xoff_tx")
        self.assertEqual(asked, self.queues(run, "xoff_tx", priority=str(DATA)))
        self.assertGreaterEqual(asked, self.SENDERS)
        self.assertLessEqual(asked, pauses)
        # The line of the receiver never rests: 16 MiB in packets of 4178 bytes on it, and a little to begin and to end.
        ideal = self.SENDERS * MIB // 4096 * MTU_LINE * 800
        self.assertLess(run.summary["emulated"]["completion_time_ps"], 1.02 * ideal)

    def test_without_headroom_frames_are_lost(self):
        for share in (0, 4):
            headroom = self.headroom() * share // 16
            run = self.run_with(headroom, f"headroom{share}")
            dropped = self.ports(run, "dropped")
            print(f"headroom {headroom} B: {sum(dropped.values())} frames dropped, {run.transport['retransmitted']} sent again")
            self.assertGreater(sum(dropped.values()), 0)
            # By the ports by which they came.
            self.assertEqual(dropped["switch.p0"], 0)
            self.assertGreaterEqual(run.transport["retransmitted"], sum(dropped.values()))


class Storm(FabricTest):
    """Four ranks exchange everything with everybody behind one switch, and the host of rank 3 pauses the switch."""

    def config(self, watchdog, until=None):
        prefix = self.folder / "all_to_all"
        chakra.write_ranks(prefix, [[chakra.collective(chakra.ALL_TO_ALL, 8 * MIB)]] * 4)
        storm = {"action": "pause", "port": "p3", "priorities": [DATA, ANSWERS], "quanta": 65535, "interval": "1ms"}
        return {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": 4, "npus": 1},
            "ports": {"count": 4, "rate": "10Gbps"},
            "fabric": {
                "topology": "star",
                "lossless": [DATA, ANSWERS],
                "buffer": {"shared": "1MiB", "xoff": "128KiB", "headroom": "32KiB", "resume_offset": "16KiB"},
                "watchdog": {"detection": "4ms", "restoration": "4ms"} | watchdog,
            },
            "transport": {"checking": True, "markings": marked(), "timeout": 11, "retry_count": 7},
            "impairments": [storm | ({"until": until} if until else {})],
            "record": {"fabric_interval": "100us"},
            "run": {"on_failure": "continue", "stall_timeout": "1s"},
        }

    def delivered_between(self, run, ranks):
        """Bytes by pair, of messages that arrived whole; None where the connection completed none."""
        rows = run.rows("flows", fidelity="twin")
        return {(int(r["source"]), int(r["destination"])): int(r["completed"] or 0) for r in rows if {int(r["source"]), int(r["destination"])} <= ranks}

    def test_a_storm_without_end_costs_its_host_alone(self):
        run = self.call("simulate", self.config({}), "--twin", status=FAILED, out="guarded")
        completed = self.delivered_between(run, {0, 1, 2})
        self.assertEqual(len(completed), 6)
        # A quarter of 8 MiB in messages of 1 MiB.
        self.assertEqual(set(completed.values()), {2}, completed)
        failures = {(f["source"], f["destination"]) for f in run.summary["failures"]}
        self.assertTrue(failures)
        self.assertTrue(all(3 in pair for pair in failures), failures)
        dropped = self.ports(run, "dropped")
        self.assertGreater(dropped.pop("switch.p3"), 0)
        self.assertEqual(set(dropped.values()), {0})
        # Paused when it begins, dropped from four milliseconds on: looked at every one.
        first = min(int(row["time_ps"]) for row in run.rows("queues", name="switch.p3") if int(row["drops"]) > 0)
        print(f"storm found by {first / 1e9:.1f} ms; {self.ports(run, 'dropped')['switch.p3']} frames dropped")
        self.assertGreaterEqual(first, 4_000_000_000)
        self.assertLessEqual(first, 5_200_000_000)
        # The record names the queues, when it was and what it cost.
        storms = run.summary["storms"]
        self.assertEqual({storm["name"] for storm in storms}, {"switch.p3"})
        self.assertLessEqual({storm["priority"] for storm in storms}, {DATA, ANSWERS})
        self.assertEqual(sum(storm["dropped"] for storm in storms), self.ports(run, "dropped")["switch.p3"])
        self.assertLessEqual(min(storm["begin_ps"] for storm in storms), first)
        self.assertTrue(all(storm["end_ps"] is None for storm in storms), storms)

    def test_without_a_watchdog_it_stops_all_and_the_run_still_ends(self):
        run = self.call("simulate", self.config({"detection": "900s"}), "--twin", status=FAILED, out="unguarded")
        completed = self.delivered_between(run, {0, 1, 2})
        self.assertLess(sum(completed.values()), 12, "the buffer held by the paused queue should stop the others")
        self.assertEqual(sum(self.ports(run, "dropped").values()), 0)
        self.assertEqual(run.summary["storms"], [])

    def test_a_watchdog_that_forwards_delivers_through_the_storm(self):
        run = self.call("simulate", self.config({"action": "forward"}), "--twin", out="forwarded")
        self.assert_delivered(run)
        self.assertEqual(sum(self.ports(run, "dropped").values()), 0)
        storms = run.summary["storms"]
        self.assertEqual({(storm["name"], storm["dropped"]) for storm in storms}, {("switch.p3", 0)})
        self.assertIn(DATA, {storm["priority"] for storm in storms})
        self.assertGreater(sum(storm["forwarded"] for storm in storms), 0)

    def test_after_a_storm_everything_is_delivered(self):
        run = self.call("simulate", self.config({}, until="20ms"), "--twin", out="short")
        self.assert_delivered(run)
        self.assertGreater(self.ports(run, "dropped")["switch.p3"], 0)
        # Paused until 20 ms; the watchdog lets go 4 ms after that, looking every millisecond, and a pause may last 3.4 ms.
        for storm in run.summary["storms"]:
            self.assertGreater(storm["end_ps"], 20 * 10**9)
            self.assertLess(storm["end_ps"], 30 * 10**9)
        self.assertGreater(run.transport["retransmitted"], 0)


class Deadlock(FabricTest):
    """Five switches in a ring; each rank sends to the one two switches on, so that every cable waits for the next."""

    RANKS = 5

    def config(self, **fabric):
        prefix = self.folder / "ring"
        ranks = []
        for rank in range(self.RANKS):
            to, source = (rank + 2) % self.RANKS, (rank - 2) % self.RANKS
            ranks.append(
                [
                    chakra.Node(0, "send", chakra.SEND, attributes={"comm_src": rank, "comm_dst": to, "comm_size": 8 * MIB}),
                    chakra.Node(1, "receive", chakra.RECEIVE, attributes={"comm_src": source, "comm_dst": rank, "comm_size": 8 * MIB}),
                ]
            )
        chakra.write_ranks(prefix, ranks)
        switches = [f"s{s}" for s in range(self.RANKS)]
        return {
            "workload": {"traces": str(prefix)},
            "hosts": {"count": self.RANKS, "npus": 1},
            "ports": {"count": self.RANKS, "rate": "40Gbps"},
            "fabric": {
                "topology": "graph",
                "link_rate": "10Gbps",
                "switches": switches,
                "links": [{"a": switches[s], "b": switches[(s + 1) % self.RANKS]} for s in range(self.RANKS)],
                "hosts": [{"port": f"p{s}", "switch": switches[s]} for s in range(self.RANKS)],
                "lossless": [DATA],
                "buffer": {"xoff": "64KiB", "headroom": "64KiB"},
            }
            | fabric,
            "transport": {"markings": marked(), "timeout": 12},
            "run": {"stall_timeout": "1s"},
        }

    def test_a_cyclic_buffer_dependency_ends_the_run_with_its_name(self):
        run = self.call("simulate", self.config(), "--twin", status=FAILED)
        reason = run.summary["reason"]
        print(reason.splitlines()[0], "...", reason.splitlines()[-1], sep="\n")
        self.assertIn(run.summary["verdict"], ("stalled", "failed"))
        self.assertIn("the fabric is deadlocked", reason)
        cycle = reason.split("until the first: ")[1].split("\n")[0].split(", ")
        queues = [f"s{s}.s{(s + 1) % self.RANKS} priority {DATA}" for s in range(self.RANKS)]
        start = queues.index(cycle[0])
        self.assertEqual(cycle, queues[start:] + queues[:start])
        self.assertIn("the fabric is deadlocked", (run.folder / "report.html").read_text(encoding="utf-8"))

    def test_lossy_queues_do_not_deadlock(self):
        run = self.call("simulate", self.config(lossless=[], buffer={"queue": "1MiB"}), "--twin")
        self.assert_delivered(run)


if __name__ == "__main__":
    unittest.main()

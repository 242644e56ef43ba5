"""PAUSE frames (IEEE 802.3, Annex 31B), which stop a whole line, from a station that is not ours to a port in real time."""

import select
import socket
import subprocess
import sys
import time
import unittest

from bridge import BridgeTest
from rankwire import transformer

QUANTA, QUANTUM_PS = 20_000, 1_024_000  # 512 bits at 500 Mb/s
PAUSE = QUANTA * QUANTUM_PS / 1e12  # 20.5 ms
PERIOD = 2.5 * PAUSE
ALL_FRAMES, OUTGOING = 3, 4  # ETH_P_ALL of linux/if_ether.h, PACKET_OUTGOING of linux/if_packet.h
ROCE = b"\x12\xb7"  # UDP port 4791


def flood(interface):
    """Sends the station at the other end of a line a PAUSE frame of one quantum every 200 us, until standard input ends."""
    line = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    line.bind((interface, 0))
    frame = bytes.fromhex("0180c2000001 020000000fff 8808 0001 0001")
    while not select.select([sys.stdin], [], [], 200e-6)[0]:
        line.send(frame.ljust(60, b"\0"))


def pause(interface):
    """Pauses the station at the other end of a line every PERIOD, until standard input ends.

    Prints how many PAUSE frames went out, and how many frames of RoCEv2 came in, in the second half of the pauses and in
    as long a time after them each.
    """
    line = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_FRAMES))
    line.bind((interface, ALL_FRAMES))
    frame = bytes.fromhex("0180c2000001 020000000fff 8808 0001") + QUANTA.to_bytes(2, "big")
    sent, paused, free, last = 0, 0, 0, float("-inf")
    while True:
        now = time.monotonic()
        if now - last >= PERIOD:
            line.send(frame.ljust(60, b"\0"))
            sent, last = sent + 1, now
        ready, _, _ = select.select([line, sys.stdin], [], [], last + PERIOD - now)
        if sys.stdin in ready:
            break
        if line in ready:
            data, (_, _, direction, *_) = line.recvfrom(64)
            since = time.monotonic() - last
            if direction != OUTGOING and data[36:38] == ROCE:
                paused += PAUSE / 2 <= since < PAUSE
                free += 3 / 2 * PAUSE <= since < 2 * PAUSE
    print(sent, paused, free)


class LinePause(BridgeTest):
    def run_with(self, station):
        """A run, and what the station at the other end of p0's line has printed at its end."""
        config = {
            "workload": {"generate": transformer()},
            "hosts": {"count": self.PORTS, "npus": 2, "nics": 1},
            "ports": [
                {"name": f"p{p}", "device": f"net_af_packet{p},iface=rw{p}", "rate": "500Mbps"} for p in range(self.PORTS)
            ],
            "switch": {"latency": "20us"},
            "transport": {"mtu": "1024B", "checking": True},
            "dpdk": {"eal_arguments": ["--no-pci"]},
            "record": {"causes": "on"},
            "run": {"deadline": "120s"},
        }
        command = ["ip", "netns", "exec", self.far, sys.executable, "-B", __file__, station.__name__, "dut0"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                run = self.call("run", config, prefix=self.inside())
            finally:
                output, _ = process.communicate()
        self.assert_delivered(run)
        return run, output

    def test_frames_are_of_the_line_alone(self):
        """Linux gives a packet socket the frames of all interfaces until it is bound to one."""
        run, _ = self.run_with(flood)
        received = {row["name"]: int(row["pause_rx"]) for row in run.rows("ports", fidelity="emulated")}
        print(received)
        self.assertGreater(received.pop("p0"), 100)
        self.assertEqual(set(received.values()), {0})

    def test_a_port_that_is_paused(self):
        run, output = self.run_with(pause)
        sent, paused, free = map(int, output.split())
        ports = {row["name"]: row for row in run.rows("ports", fidelity="emulated")}
        times = {name: {int(row[f"paused_{p}_ps"]) for p in range(8)} for name, row in ports.items()}
        received = int(ports["p0"]["pause_rx"])
        print(f"{received} of {sent} PAUSE frames, {times['p0']} ps; {paused} frames in pauses, {free} outside")
        # The first come before the ports are open, or wait there together for the run to begin; the last come behind it.
        self.assertLessEqual(received, sent)
        # All priorities together, for as long as was asked for.
        (time_paused,) = times.pop("p0")
        self.assertLessEqual(time_paused, received * QUANTA * QUANTUM_PS)
        self.assertGreater(time_paused, 2 * QUANTA * QUANTUM_PS)
        self.assertEqual(set().union(*times.values()), {0})
        # It sent nothing then, but for what a loop that was late let go: these are its frames on the line.
        self.assertGreater(free, 100)
        self.assertLess(paused, free / 4)
        by_port = {(row["port"], int(row["paused_ps"]) > 0) for row in run.rows("ranks", fidelity="emulated")}
        self.assertEqual(by_port, {("0", True), ("1", False), ("2", False), ("3", False)})


if __name__ == "__main__":
    if sys.argv[2:] == ["dut0"]:
        {"flood": flood, "pause": pause}[sys.argv[1]](sys.argv[2])
    else:
        unittest.main()

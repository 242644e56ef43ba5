"""RoceTransport against Linux soft-RoCE (rdma_rxe) in an emulated guest, as target and as initiator.

A DPDK af_packet port of rankwire and the guest's network interface are the ends of one TAP, in a network namespace of
the test's own. Neither knows the other's link address. Payloads are compared at the receiving end; every frame is
captured at the guest's end of the line, its ICRC computed and its operations put together again here, and tshark
decodes it too where it is installed. The capture remains under interop/ in the build folder.
"""

import contextlib
import dataclasses
import itertools
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

import capture
import guest
from guest import IPV4, IPV6, VLAN_IPV4, VLAN_IPV6, LineGuest, RankwirePeer, Silence
from guest_image import Unavailable
from soft_roce_run import DEPTH, MTUS, PRIORITY, TRAFFIC_CLASS, Case, Run, guest_key
from verbs_matrix import LONG

BUILD = pathlib.Path(os.environ.get("RANKWIRE_INTEROP_BUILD", pathlib.Path(__file__).parents[2] / "build/release"))
ROUNDS = 2
NETWORKS = (IPV4, IPV6, VLAN_IPV4)
LOSSES = (0, 0.003, 0.01)  # of frames, in either direction
FRAMES = 3000  # of a role at each loss, and more
# What Wireshark looks for in payloads.
PAYLOAD_PROTOCOLS = ("rpcordma", "smc", "smb_direct", "nvme-rdma", "lnet", "iser", "infiniband_sdp", "fcoib")
READY_TO_SEND, GET_FINISHED = struct.Struct(">IIQII"), struct.Struct(">I")  # dataplane/protocol/rendezvous.h


class SoftRoce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cells, cls.lost, cls.seeds = {}, {}, itertools.count(1)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="rankwire-interop-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.guest = LineGuest(cls.folder, BUILD / "verbs_peer")
        cls.addClassCleanup(cls.guest.close)
        try:
            cls.guest.boot()
        except Unavailable as reason:
            raise unittest.SkipTest(str(reason)) from reason
        cls.peer = RankwirePeer(BUILD / "rankwire_peer", cls.folder)
        cls.addClassCleanup(cls.peer.close)

    @contextlib.contextmanager
    def run_of(self, case):
        run = Run(self, case)
        try:
            yield run
        except Exception as error:
            error.add_note(f"in {case}")
            raise
        finally:
            # A conversation that broke off says no more.
            with contextlib.suppress(Silence):
                run.close()

    # The matrix: all of it, or a third, in which each verb meets each network, path MTU and loss, and each pair of these
    # meets in some verb.

    def cells_of(self, verbs):
        axes = [list(enumerate(axis)) for axis in (verbs, NETWORKS, MTUS, LOSSES)]
        for cell in itertools.product(*axes):
            if LONG or sum(place for place, _ in cell) % len(LOSSES) == 0:
                yield [value for _, value in cell]

    def test_target(self):
        for verb, network, mtu, loss in self.cells_of(("WRITE", "WRITE imm", "SEND", "SEND imm", "READ")):
            self.check_target(Case("target", "read" if verb == "READ" else "write_imm", network, mtu, loss), verb)
        self.check_losses("target")

    def test_initiator(self):
        names = {"write": "WRITE", "write_imm": "WRITE imm", "write_then_imm": "WRITE, imm"}
        names |= {"send": "SEND", "send_imm": "SEND imm", "read": "READ"}
        for verb, network, mtu, loss in self.cells_of(names):
            self.check_initiator(Case("initiator", verb, network, mtu, loss), names[verb])
        self.check_losses("initiator")

    def check_losses(self, role):
        """Drawn frame by frame, with a seed for each run."""
        for loss in LOSSES:
            self.assertGreaterEqual(self.lost[role, loss], FRAMES * loss / 5)

    def check_target(self, case, verb):
        with self.run_of(case) as run:
            run.connect()
            for number in range(ROUNDS):
                # A message that names no index is counted.
                if verb == "READ":
                    wanted = run.guest_offers(number * DEPTH)
                else:
                    wanted = run.guest_sends(verb.lower().replace(" ", "_"), number * DEPTH)
                self.assertEqual(sorted(run.events(len(wanted))), sorted(wanted))
            self.check_run(run)
        self.note(run, verb)

    def check_initiator(self, case, verb):
        with self.run_of(case) as run:
            run.connect()
            for number in range(ROUNDS):
                if case.verb != "write":
                    run.verbs.say(f"receive {DEPTH}")
                sent, received = run.rankwire_sends(number * DEPTH)
                self.assertEqual(sorted(run.events(len(sent))), sorted(sent))
                if case.verb != "write":
                    self.assertEqual(sorted(run.verbs.answer()), sorted(received))
                else:
                    memory = [f"memory {line.split()[1]} {' '.join(line.split()[4:])}" for line in received]
                    self.assertEqual(run.verbs.command("inspect"), memory[::DEPTH])
            self.check_run(run)
        self.note(run, verb)

    def note(self, run, verb):
        case, counters = run.case, run.counters
        lost = counters["lost_tx"] + counters["lost_rx"]
        self.lost[case.role, case.loss] = self.lost.get((case.role, case.loss), 0) + lost
        row = self.cells.setdefault((case.role, verb, case.network.name, case.mtu), {})
        row[case.loss] = f"{ROUNDS * DEPTH * len(case.sizes)} right, {lost} lost, {run.again} again"

    # Beside the matrix.

    def test_messages_are_split_over_queue_pairs(self):
        # ceil(ceil(bytes / 4) / 128) x 128 a part, the last ones less or none.
        parts = (1, 0, 0, 0, 384, 384, 257, 0, 7552, 7552, 7552, 7347)
        for role in ("initiator", "target"):
            case = Case(role, sizes=(1, 1025, 30_003), queue_pairs=4, parts=parts, options=(("spread", "split"),))
            with self.run_of(case) as run:
                run.connect()
                if role == "initiator":
                    run.verbs.say(f"receive {DEPTH}")
                    sent, received = run.rankwire_sends(0)
                    self.assertEqual(sorted(run.events(len(sent))), sorted(sent))
                    self.assertEqual(sorted(run.verbs.answer()), sorted(received))
                else:
                    wanted = run.guest_sends("write_imm", 0)
                    self.assertEqual(sorted(run.events(len(wanted))), sorted(wanted))
                self.check_run(run)

    def test_target_refuses_a_wrong_key(self):
        with self.run_of(Case("target", sizes=(1025,))) as run:
            run.connect(ours=[dataclasses.replace(run.ours[0], rkey=run.ours[0].rkey ^ 1)])
            with self.assertRaisesRegex(Silence, "remote access error"):
                run.verbs.command("write_imm 0 1")
            self.assertEqual(self.peer.counters()["refused"], 1)

    def test_target_needs_no_key_for_an_empty_message(self):
        # IBTA 9.7.4.1.5
        with self.run_of(Case("target", sizes=(0,))) as run:
            run.connect(ours=[dataclasses.replace(run.ours[0], rkey=run.ours[0].rkey ^ 1)])
            run.verbs.command("write_imm 0 1")
            self.assertEqual(run.events(1), ["received 0 0 0 0x0"])

    def test_initiator_learns_of_a_wrong_key(self):
        with self.run_of(Case("initiator", sizes=(1025,))) as run:
            run.connect(theirs=[dataclasses.replace(run.theirs[0], rkey=run.theirs[0].rkey ^ 1)])
            run.rankwire.command("post 0 2")
            self.assertEqual(run.events(2), ["failed 0 0 remote access error", "failed 0 1 flushed"])

    def test_initiator_waits_for_a_receiver_that_is_not_ready(self):
        for verb in ("send_imm", "write_imm"):
            with self.run_of(Case("initiator", verb, sizes=(4097,), receives=0)) as run:
                run.connect()
                sent, received = run.rankwire_sends(0)
                self.await_counter("rnr_naks")
                run.verbs.command(f"post_receives {DEPTH}")
                self.assertEqual(sorted(run.events(len(sent))), sorted(sent))
                self.assertEqual(sorted(run.verbs.command(f"receive {DEPTH}")), sorted(received))
                self.check_run(run)

    def test_target_lets_the_sender_wait_until_it_is_ready(self):
        # Two receives, which come back only with the events that nobody asks for yet.
        for verb in ("send_imm", "write_imm"):
            with self.run_of(Case("target", sizes=(4097,), options=(("receives", 2),))) as run:
                run.connect()
                run.rankwire.command("hold")
                run.verbs.say(f"{verb} 0 {DEPTH}")
                self.await_counter("rnr_naks_tx")
                delivered = run.events(DEPTH)
                run.verbs.answer()
                wanted = [f"received 0 {index} 4097 {guest_key(0, index):#x}" for index in range(DEPTH)]
                self.assertEqual(delivered, wanted)

    def await_counter(self, name):
        deadline = time.monotonic() + guest.ANSWER_DEADLINE
        while self.peer.counters()[name] == 0:
            self.assertLess(time.monotonic(), deadline, name)

    def test_the_nic_answers_ping(self):
        for network, ping in ((IPV4, "ping"), (IPV6, "ping -6"), (VLAN_IPV4, "ping"), (VLAN_IPV6, "ping -6")):
            with self.run_of(Case("target", network=network, sizes=(1,))):
                status, output = self.guest.run(f"{ping} -c 2 -W 20 -s 1000 {network.our_ip}")
                self.assertEqual(status, 0, output)
                self.assertIn("2 packets received, 0% packet loss", output)

    # What every run is judged by.

    def check_run(self, run):
        run.counters = self.peer.counters()
        self.check_counters(run)
        packets = run.packets()
        requests = [p for p in packets if not capture.is_answer(p)]
        run.again = len(requests) - len({(p.destination_qp, p.psn) for p in requests})
        for ours, theirs, offset, sent in zip(run.ours, run.theirs, run.case.offsets(), run.sent):
            self.check_queue_pair(run, packets, ours, theirs, offset, sent)
        self.check_headers(run, packets)

    def check_counters(self, run):
        counters = run.counters
        wrong = ("icrc_errors", "malformed", "unknown_qp", "payload_errors", "rx_missed")
        self.assertEqual({name: counters[name] for name in wrong}, dict.fromkeys(wrong, 0), counters)
        if run.case.loss == 0:
            self.assertEqual((counters["lost_tx"], counters["lost_rx"]), (0, 0))

    def check_queue_pair(self, run, packets, ours, theirs, offset, sent):
        case = run.case
        to_us = [p for p in packets if (p.destination, p.destination_qp) == (case.network.our_ip, ours.queue_pair)]
        to_them = [p for p in packets if (p.source, p.destination_qp) == (case.network.our_ip, theirs.queue_pair)]
        port = capture.source_port(ours.queue_pair, theirs.queue_pair)
        self.assertEqual({p.source_port for p in to_us + to_them}, {port})
        by_us, by_them = self.asked(to_them, to_us, ours, case), self.asked(to_us, to_them, theirs, case)
        initiator, target, forth, back = ours, theirs, by_us, by_them
        if case.role == "target":
            initiator, target, forth, back = theirs, ours, by_them, by_us
        if case.verb == "read":
            self.check_rendezvous(forth, back, sent)
        else:
            self.assertEqual([(op.verb, op.immediate, op.payload) for op in forth], sent)
            self.assertEqual(back, [])
            for op in forth:
                if op.verb == capture.WRITE:
                    # An empty WRITE may name any address.
                    address = target.address + (offset if op.payload else op.first.address - target.address)
                    self.assertEqual((op.first.address, op.first.rkey), (address, target.rkey))

    def check_rendezvous(self, forth, back, sent):
        """The source offers, the destination reads and says so."""
        offers = [READY_TO_SEND.unpack(op.payload) for op in forth]
        self.assertEqual({op.verb for op in forth}, {capture.SEND})
        reads = [op for op in back if op.verb == capture.READ]
        answers = [GET_FINISHED.unpack(op.payload)[0] for op in back if op.verb == capture.SEND]
        self.assertEqual(len(reads) + len(answers), len(back))
        self.assertEqual([(capture.READ, index, length) for index, _, _, _, length in offers],
                         [(verb, index, len(payload)) for verb, index, payload in sent])
        self.assertEqual([(op.first.address, op.first.rkey) for op in reads],
                         [(address, rkey) for _, _, address, rkey, _ in offers])
        self.assertEqual([op.payload for op in reads], [payload for _, _, payload in sent])
        self.assertEqual(sorted(answers), sorted(cookie for _, cookie, _, _, _ in offers))

    def asked(self, there, back, requester, case):
        """The operations that an end asked for by what it sent; the last of them was acknowledged by what it got, and
        their number told."""
        requests = [p for p in there if not capture.is_answer(p)]
        answers = [p for p in back if capture.is_answer(p)]
        done = capture.operations(requests, answers, requester.psn, case.mtu)
        if done:
            last = max(requests, key=lambda p: (p.psn - requester.psn) & capture.PSN_MASK)
            final = [p for p in answers if p.psn == last.psn and p.syndrome == 0x1F]
            self.assertEqual({p.msn for p in final}, {len(done)})
        return done

    def check_headers(self, run, packets):
        network = run.case.network
        ends = network.our_ip, network.guest_ip
        self.assertEqual({(p.vlan, p.source, p.destination) for p in packets},
                         {(network.vlan, *ends), (network.vlan, *reversed(ends))})
        # No fragments, no UDP checksum, the default partition, transport version 0.
        same = {(p.fragmentable, p.udp_checksum, p.partition_key, p.version) for p in packets}
        self.assertEqual(same, {(False, 0, 0xFFFF, 0)})
        self.assertEqual({p.type_of_service for p in packets if p.source == network.guest_ip}, {TRAFFIC_CLASS})
        ours = [p for p in packets if p.source == network.our_ip]
        self.assertEqual({p.time_to_live for p in ours}, {64})
        self.assertEqual({p.migrated for p in ours}, {MTUS[run.case.mtu] == "rankwire"})
        if network.vlan:
            self.assertEqual({p.priority for p in packets if p.source == network.guest_ip}, {guest.PRIORITY})
            data = [p for p in ours if p.opcode != capture.ACKNOWLEDGE]
            self.assertLessEqual({p.priority for p in data}, {PRIORITY})

    @classmethod
    def tearDownClass(cls):
        losses = "".join(f"  loss {loss:<24.1%}" for loss in LOSSES)
        if not cls.cells:
            return
        print(f"\n{'rankwire':<10} {'operation':<11} {'network':<8} {'path MTU':>8}{losses}")
        for (role, verb, network, mtu), cells in cls.cells.items():
            texts = "".join(f"  {cells.get(loss, ''):<29}" for loss in LOSSES)
            print(f"{role:<10} {verb:<11} {network:<8} {mtu:>8}{texts}")

    def test_the_whole_capture(self):
        """The last test by name: an independent decoder sees the same packets, none of them malformed."""
        path = BUILD / "interop" / "soft_roce.pcap"
        path.parent.mkdir(exist_ok=True)
        shutil.copy(self.guest.capture, path)
        if shutil.which("tshark") is None:
            print("tshark is absent: it decodes nothing")
            return
        frames = capture.frames(path.read_bytes())
        packets = [capture.decode(frame) for frame in frames if capture.is_roce(frame)]
        names = ("opcode", "destqp", "psn")
        fields = [f"infiniband.bth.{name}" for name in names] + ["infiniband.reth.dmalen", "_ws.malformed"]
        arguments = [word for field in fields for word in ("-e", field)]
        # A payload may begin like that of another protocol, whose dissector would then find it malformed.
        arguments += ["--disable-heuristic", "eth_over_ib"]
        arguments += [word for name in PAYLOAD_PROTOCOLS for word in ("--disable-protocol", name)]
        command = ["tshark", "-n", "-r", path, "-T", "fields", *arguments]
        command += ["-Y", f"udp.dstport == {capture.ROCE_PORT}"]
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
        lines = [line.split("\t") for line in output.splitlines()]
        seen = [[int(text, 0) if text else 0 for text in line[:4]] for line in lines]
        self.assertEqual(seen, [[p.opcode, p.destination_qp, p.psn, p.dma_length] for p in packets])
        self.assertEqual({line[4] for line in lines}, {""})
        print(f"tshark agrees on {len(packets)} packets, whose ICRCs are right")


if __name__ == "__main__":
    unittest.main()

"""Thousands of queue pairs on one RDMA device, and what is too much for it or forbidden: said before the run, in one
line, with exit status 2."""

import contextlib
import json
import re
import unittest

from rankwire_guest import LINK_MTU, RANKS, GuestTest, chakra, collectives, rankwire

DEVICE = "rxe0"
QUEUE_PAIRS = 250  # of each of the 8 connections of a ring; each has two ends: 4,000
USER = "/usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all"


class Limits(GuestTest):
    @classmethod
    def make_network(cls, guest):
        guest.do(f"ip link add d0 mtu {LINK_MTU} type dummy", "ip link set d0 up")
        guest.make_rdma_device(DEVICE, "d0", [f"10.7.0.{rank + 1}/24" for rank in range(RANKS)])
        # 24 messages of 4 KiB a step, 14 steps: 336 a connection, so that each of its queue pairs carries one.
        cls.many = collectives(guest, "many", (chakra.ALL_REDUCE, RANKS * 24 * 4096))
        cls.small = collectives(guest, "small", (chakra.ALL_REDUCE, 100_001))

    def config(self, workload, ports=None, **transport):
        ports = ports or [{"name": f"p{i}", "verbs": DEVICE, "rate": "1Gbps"} for i in range(RANKS)]
        return {
            "workload": workload.section,
            "addresses": {"ip": "10.7.0.1/24"},
            "hosts": {"count": RANKS, "npus": 1},
            "ports": ports,
            "collectives": {"chunk": "4KiB"},
            "transport": {"checking": True, "timeout": 18} | transport,
            "run": {"deadline": "60s", "stall_timeout": "20s"},
        }

    @contextlib.contextmanager
    def watched(self, script):
        """The words of each line that a script of the guest's shell writes meanwhile; it ends with /run/watch.stop."""
        (self.guest.share / "watch").write_text(script, encoding="ascii")
        self.guest.do("rm -f /run/watch.stop /run/watch.ended", "mkfifo /run/watch.ended",
                      "(sh /share/watch >/run/watch.log 2>&1; echo ended >/run/watch.ended) & true")
        rows = []
        try:
            yield rows
        finally:
            # Not before it has ended: the next would write into the same file beside it.
            self.guest.do("touch /run/watch.stop", "read -r ended </run/watch.ended")
            text = self.guest.do("cat /run/watch.log")
            rows += [line.split() for line in text.splitlines()]

    def available(self):
        return int(re.search(r"MemAvailable: +(\d+)", self.guest.do("cat /proc/meminfo")).group(1)) * 1024

    def test_4000_queue_pairs(self):
        before = self.available()
        # Beside the run: when it began and when queue pairs last came, how many, and the memory that was left.
        watch = """
        begin=$(cut -d' ' -f1 /proc/uptime); most=0
        while [ ! -e /run/watch.stop ]; do
          n=$(rdma resource show | sed -n 's/.* qp \\([0-9]*\\).*/\\1/p')
          if [ "$n" -gt $most ]; then most=$n; at=$(cut -d' ' -f1 /proc/uptime); fi
          echo "$begin $at $most $(sed -n 's/MemAvailable: *\\([0-9]*\\).*/\\1/p' /proc/meminfo)"
          usleep 50000
        done"""
        transport = {"queue_pairs": QUEUE_PAIRS, "spread": "deal", "verbs": {"send_queue": 4, "signal_every": 4},
                     "receive_queue": 2}
        with self.watched(watch) as rows:
            run = self.run_in_guest(self.config(self.many, **transport))
        self.assert_delivered(run)
        self.assertEqual(run.summary["bytes_wire"], self.many.bytes)
        flows = run.rows("flows", fidelity="emulated")
        self.assertEqual(len({row["source_qp"] for row in flows} | {row["destination_qp"] for row in flows}),
                         2 * RANKS * QUEUE_PAIRS)
        self.assertTrue(all(int(row["messages"]) > 0 for row in flows))
        begin, at, most, _ = rows[-1]
        # One more is the device's own, for management.
        self.assertIn(int(most) - 2 * RANKS * QUEUE_PAIRS, (0, 1))
        used = before - min(int(row[3]) for row in rows) * 1024
        self.table.append((f"{most} queue pairs", f"made in {float(at) - float(begin):.1f} s", f"{used >> 20} MiB",
                           f"{used / int(most) / 1024:.0f} KiB each", f"{run.summary['messages']} messages"))

    def test_huge_pages(self):
        """Registered memory consists of them where there are enough, and of others where there are not."""
        watch = """
        while [ ! -e /run/watch.stop ]; do sed -n 's/HugePages_Free: *//p' /proc/meminfo; usleep 20000; done"""
        config = self.config(self.small, receive_queue=32)
        reserved = 32
        try:
            self.guest.do(f"echo {reserved} >/proc/sys/vm/nr_hugepages")
            self.assertEqual(self.free_huge_pages(), reserved)
            with self.watched(watch) as rows:
                details = self.registered(config)
            pages = details["registered_bytes"] >> 21
            self.assertEqual(details["huge_pages"], 1)
            self.assertGreater(pages, 1)
            # A device has all of them locked that were registered with it.
            fewest = min(int(free) for (free,) in rows)
            self.assertEqual(fewest, reserved - pages)
            self.assertEqual(self.free_huge_pages(), reserved, "all are given back")
            self.guest.do(f"echo {pages - 1} >/proc/sys/vm/nr_hugepages")
            with self.watched(watch) as rows:
                too_few = self.registered(config)
            self.assertEqual(too_few, details | {"huge_pages": 0})
            self.assertEqual({int(free) for (free,) in rows}, {pages - 1})
        finally:
            self.guest.do("echo 0 >/proc/sys/vm/nr_hugepages")
        self.table.append((f"{pages} huge pages", f"of {reserved} free, {fewest} left", f"none of {pages - 1}"))

    def free_huge_pages(self):
        return int(re.search(r"HugePages_Free: +(\d+)", self.guest.do("cat /proc/meminfo")).group(1))

    def registered(self, config):
        """What a run says of the memory that it registered."""
        run = self.run_in_guest(config)
        self.assert_delivered(run)
        return {key: run.summary["transport_details"][key] for key in ("registered_bytes", "huge_pages")}

    # What is said before the run.

    def test_more_memory_than_allowed(self):
        config = self.config(self.small, verbs={"memory": "1MiB"}, receive_queue=512)
        self.assert_error_before_the_run(config, "transport.verbs.memory allows 1048576", "transport.receive_queue")

    def test_longer_queues_than_the_device_has(self):
        # rxe has 32,767 completions in a queue: RXE_MAX_CQE in drivers/infiniband/sw/rxe/rxe_param.h.
        config = self.config(self.small, receive_queue=32_768)
        self.assert_error_before_the_run(config, DEVICE, "32767", "transport.receive_queue")

    def test_more_queue_pairs_than_the_kernel_grants(self):
        """A control group may have 30 objects of the device: 8 ports take 3 each, for a protection domain, a region and
        a completion queue, and 16 queue pairs are too many."""
        group = "/sys/fs/cgroup/few"
        self.guest.do("mkdir -p /sys/fs/cgroup", "mount -t cgroup2 none /sys/fs/cgroup",
                      "echo +rdma >/sys/fs/cgroup/cgroup.subtree_control", f"mkdir {group}",
                      f"echo '{DEVICE} hca_handle=100 hca_object=30' >{group}/rdma.max")
        join = f"sh -c 'echo 0 >{group}/cgroup.procs; exec \"$@\"' -"
        self.assert_error_before_the_run(self.config(self.small), DEVICE, "queue pair", prefix=join)

    def test_locked_memory(self):
        self.guest.do("chmod 666 /dev/infiniband/*", "chmod 777 /run")
        prefix = f"{USER} sh -c 'ulimit -l 64; exec \"$@\"' -"
        self.assert_error_before_the_run(self.config(self.small), DEVICE, "65536 bytes", "ulimit -l", prefix=prefix)
        self.assertIn("65536 bytes", self.obstacle(prefix))

    def test_permissions(self):
        self.guest.do("chmod 600 /dev/infiniband/*", "chmod 777 /run")
        self.assert_error_before_the_run(self.config(self.small), DEVICE, "/dev/infiniband", prefix=USER)
        self.assertIn("/dev/infiniband", self.obstacle(USER))

    def test_device_that_is_not_there(self):
        ports = [{"name": f"p{i}", "verbs": "mlx5_0"} for i in range(RANKS)]
        self.assert_error_before_the_run(self.config(self.small, ports), "mlx5_0", DEVICE)

    def test_gid_that_is_not_there(self):
        ports = [{"name": f"p{i}", "verbs": DEVICE, "gid": 99} for i in range(RANKS)]
        self.assert_error_before_the_run(self.config(self.small, ports), DEVICE, "99")

    def test_interface_that_carries_too_little(self):
        self.guest.do("ip link set d0 mtu 1500")
        try:
            self.assert_error_before_the_run(self.config(self.small, mtu="4096B"), DEVICE, "4096", "1024",
                                             "transport.mtu")
        finally:
            self.guest.do(f"ip link set d0 mtu {LINK_MTU}")

    def test_path_mtu_that_follows_from_the_interface(self):
        packets = {}
        for link, mtu in ((1500, 1024), (LINK_MTU, 4096)):
            self.guest.do(f"ip link set d0 mtu {link}")
            before = self.guest.hardware_counter(DEVICE, "sent_pkts")
            run = self.run_in_guest(self.config(self.small))
            packets[mtu] = self.guest.hardware_counter(DEVICE, "sent_pkts") - before
            self.assert_delivered(run)
            self.assertEqual(run.summary["config"]["transport"]["mtu"], f"{mtu}B")
            # More where some were sent again.
            self.assertGreaterEqual(packets[mtu], self.small.bytes // mtu)
        self.table.append(("path MTU 1024 and 4096", f"{packets[1024]} packets", f"{packets[4096]} packets"))

    def test_interface_that_is_down(self):
        self.guest.do("ip link add d1 type dummy", "ip link set d1 up", "rdma link add rxe9 type rxe netdev d1",
                      "ip link set d1 down")
        try:
            ports = [{"name": f"p{i}", "verbs": "netdev d1"} for i in range(RANKS)]
            self.assert_error_before_the_run(self.config(self.small, ports), "rxe9", "down")
            self.assertIn("down", self.obstacle(device="rxe9"))
        finally:
            self.guest.do("ip link delete d1")

    def test_device_that_can_be_used(self):
        (entry,) = self.entries()
        self.assertEqual((entry["usable"], entry["interface"], entry["active_mtu"]), (True, "d0", 4096))
        self.assertEqual({gid["ip"] for gid in entry["gids"]} & {"10.7.0.1", "10.7.0.8"}, {"10.7.0.1", "10.7.0.8"})

    def obstacle(self, prefix="", device=DEVICE):
        """Why `rankwire devices` says that the device cannot be used."""
        (entry,) = self.entries(prefix, device)
        self.assertFalse(entry["usable"])
        return entry["obstacle"]

    def entries(self, prefix="", device=DEVICE):
        status, output = self.guest.run(f"{prefix} rankwire devices --json")
        self.assertEqual(status, rankwire.OK, output)
        return [entry for entry in json.loads(output) if entry["device"] == device]


if __name__ == "__main__":
    unittest.main()

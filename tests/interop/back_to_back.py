"""Soft-RoCE on both ends of a veth pair in a guest, with the interfaces, the addresses and the routes of the lab guide,
whose commands are taken from its text."""

import contextlib
import json
import re

from rankwire_guest import LINK_MTU, GuestTest, rankwire

GUIDE = rankwire.SOURCE / "docs/lab-guide.md"
ADDRESSES = {"eth2": "10.9.0.1", "eth3": "10.9.0.2"}
DEVICES = {"eth2": "rxe2", "eth3": "rxe3"}


def routing_commands():
    """What the guide has one type to lead packets from one port to the other."""
    blocks = re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (block,) = (block for block in blocks if "ip rule" in block)
    return block.splitlines()


class BackToBackTest(GuestTest):
    @classmethod
    def make_network(cls, guest):
        guest.do(f"ip link add eth2 mtu {LINK_MTU} type veth peer name eth3 mtu {LINK_MTU}",
                 "ip link set eth2 up", "ip link set eth3 up")
        for interface, address in ADDRESSES.items():
            guest.make_rdma_device(DEVICES[interface], interface, [f"{address}/24"])

    @contextlib.contextmanager
    def routed(self):
        """The guide's routes lead out meanwhile."""
        self.guest.do(*routing_commands())
        try:
            yield
        finally:
            self.guest.do(
                "ip rule add pref 0 lookup local",
                *(f"ip rule delete pref {pref}" for pref in (10, 11, 1000)),
                *(f"ip route flush table {table}" for table in (101, 102)),
                "sysctl -w net.ipv4.conf.all.accept_local=0",
                *(f"ip neigh flush dev {interface}" for interface in ADDRESSES),
            )

    def way(self, source, destination):
        """The interface by which packets between two addresses of the guest leave."""
        (route,) = json.loads(self.guest.do(f"ip -j route get {destination} from {source}"))
        return route["dev"]

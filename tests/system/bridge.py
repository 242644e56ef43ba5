"""A Linux bridge as the device under test, in namespaces that the test makes.

The near ends of veth pairs (rw0, rw1, ...) and rankwire are in one network namespace, the far ends (dut0, dut1, ...)
and the bridge in another, so that every frame crosses the bridge.
"""

import os
import shutil
import subprocess

from rankwire import RankwireTest


def command(*arguments, **how):
    """What a command prints. Throws where it fails."""
    return subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60, **how).stdout


def ip(*arguments):
    return command("ip", *arguments)


class BridgeTest(RankwireTest):
    PORTS = 4
    LINK_MTU = 4200  # 4096 B of payload, 62 B of headers, ICRC
    TOOLS = ("ip",)

    def setUp(self):
        super().setUp()
        missing = [tool for tool in self.TOOLS if shutil.which(tool) is None]
        if os.geteuid() != 0 or missing:
            self.skipTest(f"network namespaces take root and {', '.join(self.TOOLS)}; missing: {missing}")
        self.near, self.far = f"rwnear{os.getpid()}", f"rwfar{os.getpid()}"
        try:
            self.build()
        except subprocess.CalledProcessError as error:
            self.skipTest(f"{' '.join(error.cmd)}: {error.stderr.strip()}")

    def build(self):
        for namespace in (self.near, self.far):
            ip("netns", "add", namespace)
            # The interfaces go with their namespace.
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", namespace], capture_output=True, check=False)
        mtu = ["mtu", str(self.LINK_MTU)]
        ip("-n", self.far, "link", "add", "br0", *mtu, "type", "bridge")
        for port in range(self.PORTS):
            near, far = f"rw{port}", f"dut{port}"
            peer = ["peer", "name", far, *mtu, "netns", self.far]
            ip("-n", self.near, "link", "add", near, *mtu, "type", "veth", *peer)
            ip("-n", self.far, "link", "set", far, "master", "br0", "up")
            ip("-n", self.near, "link", "set", near, "up")
        ip("-n", self.far, "link", "set", "br0", "up")
        # Neighbour discovery of the kernel would be counted with our frames.
        for namespace, name in ((self.near, "rw"), (self.far, "dut")):
            for port in range(self.PORTS):
                ip("-n", namespace, "link", "set", f"{name}{port}", "addrgenmode", "none")

    def inside(self):
        """What starts a command where the near ends are."""
        return ["ip", "netns", "exec", self.near]

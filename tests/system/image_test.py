"""The image of packaging/Containerfile, made and started by podman without root's help."""

import pathlib
import shutil
import subprocess
import unittest

from rankwire import SOURCE, RankwireTest


# Debian's crun starts nothing where versions 1 and 2 of control groups are mixed.
IS_MIXED = not pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
PODMAN = ["podman", "--runtime", "runc"] if IS_MIXED and shutil.which("runc") else ["podman"]


@unittest.skipUnless(shutil.which("podman"), "needs podman")
class Image(RankwireTest):
    def test_simulates(self):
        self.podman("build", "-f", SOURCE / "packaging/Containerfile", "-t", "rankwire-test", SOURCE)
        self.addCleanup(self.podman, "rmi", "rankwire-test")
        self.podman("run", "--rm", "-v", f"{self.folder}:/work", "rankwire-test", "simulate",
                    "/usr/share/rankwire/configs/quickstart.yaml", "--out", "run")  # fmt: skip
        self.assertTrue((self.folder / "run/report.html").exists())

    def podman(self, *arguments):
        done = subprocess.run([*PODMAN, *map(str, arguments)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()

"""The image of packaging/Containerfile, made and started by podman without root's help."""

import shutil
import subprocess
import unittest

from rankwire import SOURCE, RankwireTest


@unittest.skipUnless(shutil.which("podman"), "needs podman")
class Image(RankwireTest):
    def test_simulates(self):
        self.podman("build", "-f", SOURCE / "packaging/Containerfile", "-t", "rankwire-test", SOURCE)
        self.addCleanup(self.podman, "rmi", "rankwire-test")
        self.podman("run", "--rm", "-v", f"{self.folder}:/work", "rankwire-test", "simulate",
                    "/usr/share/rankwire/configs/quickstart.yaml", "--out", "run")  # fmt: skip
        self.assertTrue((self.folder / "run/report.html").exists())

    def podman(self, *arguments):
        done = subprocess.run(["podman", *map(str, arguments)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()

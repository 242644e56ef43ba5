"""Two builds, one package: from other folders, with another umask, zone and number of processors."""

import os
import shutil
import subprocess
import unittest

from rankwire import SOURCE, RankwireTest

LEFT_OUT = shutil.ignore_patterns(".git", "build", "runs", "__pycache__")


class Reproducible(RankwireTest):
    def package(self, folder, umask, **environment):
        """What `./dev package` makes of the sources in a folder of that name."""
        tree = self.folder / folder
        shutil.copytree(SOURCE, tree, symlinks=True, ignore=LEFT_OUT)
        made = subprocess.run(["bash", "-c", f'umask {umask} && exec "$0" package', tree / "dev"], capture_output=True,
                              text=True, check=False, env=os.environ | environment)  # fmt: skip
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        (file,) = (tree / "build/package").glob("*.deb")
        return file

    def contents(self, file):
        """What differs is easier to find by the files of the package."""
        root = file.with_suffix("")
        subprocess.run(["dpkg-deb", "--raw-extract", file, root], check=True)
        return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def test_two_builds_are_equal(self):
        for tool in ("cmake", "cpack", "dpkg-deb", "lintian"):
            if shutil.which(tool) is None:
                self.skipTest(f"needs {tool} (./dev package installs it)")
        one = self.package("a", "022", TZ="UTC")
        other = self.package("another-and-longer-name/below", "027", TZ="Asia/Tokyo", CMAKE_BUILD_PARALLEL_LEVEL="1")
        if one.read_bytes() == other.read_bytes():
            return
        first, second = self.contents(one), self.contents(other)
        differing = {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}
        self.fail(f"the packages differ in {sorted(map(str, differing)) or 'order, times or modes of their files'}")


if __name__ == "__main__":
    unittest.main()

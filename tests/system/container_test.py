"""The image of packaging/Containerfile asks for what the repository has (image_test.py makes it)."""

import re
import shlex
import unittest

from rankwire import SOURCE

FILE = SOURCE / "packaging/Containerfile"


def instructions():
    """(KEYWORD, text) of each, lines that go on joined."""
    lines = re.sub(r"\\\n\s*", "", FILE.read_text(encoding="utf-8")).splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line and not line.startswith("#")]


class Containerfile(unittest.TestCase):
    def test_stages(self):
        bases = [text.split()[0] for keyword, text in instructions() if keyword == "FROM"]
        # A short name: which registry has it is the user's setting. The release that the packages are named for.
        self.assertEqual(bases, ["debian:12-slim"] * 2)
        self.assertIn("On a fresh Debian 12", (SOURCE / "dev").read_text(encoding="utf-8"))

    def test_packages_are_those_of_dev_and_of_the_package(self):
        """So that no list stands here that could fall behind: `./dev package` installs what is missing as root does."""
        commands = [command for keyword, text in instructions() if keyword == "RUN"
                    for command in re.sub(r"--mount=\S+ ", "", text).split(" && ")]  # fmt: skip
        installing = [shlex.split(command) for command in commands if "install" in command]
        self.assertEqual(installing, [["apt-get", "install", "-y", "--no-install-recommends", "/rankwire.deb"]])
        self.assertIn("./dev package", commands)
        package = re.search(r"^  package\)\n(.*?);;", (SOURCE / "dev").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        self.assertIn('need "${build_packages[@]}" "${package_packages[@]}"', package[1])
        # Where the package is: as `./dev package` and the stage behind it name it.
        self.assertIn("cpack --config build/package/CPackConfig.cmake -B build/package", package[1])
        self.assertIn("mv build/package/*.deb /rankwire.deb", commands)

    def test_context_is_the_sources(self):
        left_out = (SOURCE / ".containerignore").read_text(encoding="utf-8").split()
        self.assertEqual(left_out, [".git", "build", "runs"])
        for needed in ("dev", "CMakeLists.txt", "CMakePresets.json", "packaging/changelog", "docs", "configs"):
            self.assertTrue((SOURCE / needed).exists(), needed)


if __name__ == "__main__":
    unittest.main()

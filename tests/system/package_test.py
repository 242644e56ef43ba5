"""The Debian package of the program that was built: what is in it, whether apt could install it, and whether it works."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from rankwire import BINARY, OK, SOURCE, RankwireTest, rankwire

EPOCH = "1764288000"  # seconds since 1970 that all files are said to be from


def call(*command, **how):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **how)


class Package(RankwireTest):
    file = None

    @classmethod
    def setUpClass(cls):
        tools = ("cpack", "dpkg-deb", "dpkg-shlibdeps", "lintian", "apt-get")
        if missing := [tool for tool in tools if not shutil.which(tool)]:
            raise unittest.SkipTest(f"needs {', '.join(missing)} (./dev package installs what there is no other use for)")

    def setUp(self):
        super().setUp()
        made = call("cpack", "-B", self.folder, cwd=BINARY.parent, env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH})
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        (self.file,) = self.folder.glob("*.deb")

    def test_package(self):
        with self.subTest("dependencies"):
            depends = call("dpkg-deb", "--field", self.file, "Depends").stdout
            for library in ("libibverbs1", "libyaml-cpp0.7", "libprotobuf32", "libsqlite3-0"):
                self.assertIn(library, depends)
            installed = call("apt-get", "install", "--simulate", self.file)
            self.assertEqual(installed.returncode, 0, installed.stderr)
        with self.subTest("policy"):
            found = call("lintian", "--allow-root", "--fail-on", "warning,error", self.file)
            self.assertEqual(found.returncode, 0, found.stdout)
        root = self.folder / "root"
        call("dpkg-deb", "--extract", self.file, root)
        with self.subTest("contents"):
            for name in ("bin/rankwire", "share/man/man1/rankwire.1.gz", "share/bash-completion/completions/rankwire",
                         "share/zsh/vendor-completions/_rankwire", "share/fish/vendor_completions.d/rankwire.fish",
                         "lib/systemd/system/rankwire.service", "share/doc/rankwire/copyright", "share/doc/rankwire/configuration.md",
                         "share/rankwire/schemas/summary.schema.json"):  # fmt: skip
                self.assertTrue((root / "usr" / name).stat().st_size > 0, name)
        with self.subTest("unit"):
            # Of a service only the program must be where it says; the one that was extracted is elsewhere.
            unit = self.folder / "rankwire.service"
            text = (root / "usr/lib/systemd/system/rankwire.service").read_text(encoding="utf-8")
            self.assertIn("ExecStart=/usr/bin/rankwire serve --root ", text)
            unit.write_text(text.replace("/usr/bin/", f"{root}/usr/bin/"), encoding="utf-8")
            if shutil.which("systemd-analyze"):
                verified = call("systemd-analyze", "verify", "--man=no", unit)
                self.assertEqual((verified.returncode, verified.stderr), (0, ""))
                # With the drop-in of the documents, too.
                document = (SOURCE / "docs/serve.md").read_text(encoding="utf-8")
                [drop_in] = re.findall(r"```\n(\[Service\]\nLoadCredential=.*?)```", document, re.DOTALL)
                folder = self.folder / "rankwire.service.d"
                folder.mkdir()
                (folder / "override.conf").write_text(drop_in, encoding="utf-8")
                verified = call("systemd-analyze", "verify", "--man=no", unit)
                self.assertEqual((verified.returncode, verified.stderr), (0, ""))
        with self.subTest("removal"):
            scripts = self.folder / "scripts"
            call("dpkg-deb", "--control", self.file, scripts)
            self.assertIn("deb-systemd-invoke stop rankwire.service", (scripts / "prerm").read_text(encoding="utf-8"))
            for name in ("prerm", "postrm"):
                self.assertEqual(call("sh", "-e", scripts / name, "upgrade").returncode, 0)  # does nothing
        with self.subTest("bill of materials"):
            bill = json.loads((root / "usr/share/rankwire/rankwire.spdx.json").read_text(encoding="utf-8"))
            self.assertEqual((bill["spdxVersion"], bill["creationInfo"]["created"]), ("SPDX-2.3", "2025-11-28T00:00:00Z"))
            kinds = {entry["relatedSpdxElement"]: entry["relationshipType"] for entry in bill["relationships"]}
            self.assertEqual({entry["SPDXID"] for entry in bill["packages"]}, set(kinds), "each is related to something")
            self.assertEqual(kinds["SPDXRef-libdpdk-dev"], "STATIC_LINK")
            # What the package depends on is what the bill has as shared libraries.
            names = {entry["name"] for entry in bill["packages"] if kinds[entry["SPDXID"]] == "DYNAMIC_LINK"}
            virtual = {"libspdlog1.10-fmt9"}  # which libspdlog1.10 provides
            self.assertLessEqual({entry.split()[0] for entry in depends.split(", ")} - virtual, names)
        with self.subTest("program"):
            quickstart = root / "usr/share/rankwire/configs/quickstart.yaml"
            process = rankwire("simulate", quickstart, "--out", self.folder / "run", binary=root / "usr/bin/rankwire")
            self.assertEqual(process.returncode, OK, process.stderr)
            self.assertTrue(pathlib.Path(self.folder / "run/report.html").exists())


if __name__ == "__main__":
    unittest.main()

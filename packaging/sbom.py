#!/usr/bin/env python3
"""The software bill of materials of what is installed: SPDX 2.3 as JSON (https://spdx.github.io/spdx-spec/v2.3/).

  sbom.py VERSION PACKAGE... -- PROGRAM...   PACKAGE: a Debian package that is compiled into the programs; the shared
                                             libraries of these are found.

Prints it. SOURCE_DATE_EPOCH says when it was made; without that it is now.
"""

import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def shared_libraries(program):
    """The Debian packages of the libraries that the loader finds for it."""
    paths = [line.split(" => ")[1].split(" (")[0] for line in output("ldd", program).splitlines() if " => /" in line]
    # The loader may find a library below /lib where the package has it below /usr/lib, which are one on Debian.
    names = {known: path for path in paths for real in (path, os.path.realpath(path))
             for known in (real, real.removeprefix("/usr"), "/usr" + real)}  # fmt: skip
    found = subprocess.run(["dpkg-query", "-S", *names], capture_output=True, text=True, check=False).stdout
    owners = {names[path]: owner.split(":")[0] for owner, path in (line.split(": ") for line in found.splitlines())}
    if missing := set(paths) - owners.keys():
        sys.exit(f"no Debian package has {', '.join(sorted(missing))}")
    return set(owners.values())


def package(name, linked):
    version, source = output("dpkg-query", "-W", "-f=${Version} ${source:Package}\n", name).splitlines()[0].split()
    return {
        "SPDXID": f"SPDXRef-{name.replace('+', 'p')}",
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "comment": f"{linked}, of the Debian source package {source}",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{name}@{version}",
        }],
    }


def main():
    end = sys.argv.index("--")
    version, *built_in = sys.argv[1:end]
    programs = sys.argv[end + 1 :]
    made = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now().timestamp())),
                                           datetime.timezone.utc)
    digest = hashlib.sha256(b"".join(pathlib.Path(program).read_bytes() for program in programs)).hexdigest()
    shared = set().union(*map(shared_libraries, programs)) - set(built_in)
    packages = [package(name, "shared library") for name in sorted(shared)]
    packages += [package(name, "compiled in") for name in sorted(built_in)]
    own = {
        "SPDXID": "SPDXRef-rankwire",
        "name": "rankwire",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseDeclared": "Apache-2.0",
        "primaryPackagePurpose": "APPLICATION",
    }
    json.dump({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"rankwire-{version}",
        "documentNamespace": f"https://rankwire.example/spdx/rankwire-{version}-{digest}",
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: rankwire packaging/sbom.py"]},
        "packages": [own, *packages],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": own["SPDXID"]},
            *({"spdxElementId": own["SPDXID"], "relatedSpdxElement": entry["SPDXID"],
               "relationshipType": "STATIC_LINK" if entry["comment"].startswith("compiled") else "DYNAMIC_LINK"}
              for entry in packages),
        ],
    }, sys.stdout, indent=1)  # fmt: skip
    print()


if __name__ == "__main__":
    main()

"""The bill of materials of a wheel: which libraries of others are in which of its files (SPDX 2.3).

Names and static libraries are rows of services/cli/linked_libraries.inc, versions what the linked program says of itself
(`eidolon --version --verbose`), packages those of the Debian that the static libraries came from: Debian mends old
versions, so that only its own number says which vulnerabilities are closed.
"""

import fnmatch
import hashlib
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = ROOT / "services/cli/linked_libraries.inc"
ROW = re.compile(r'^LIBRARY\("([^"]+)", "([^"]*)",', re.M)
CREATED = "2026-01-01T00:00:00Z"  # No build's own, so that equal contents make equal wheels.
SPACE = "https://eidolon.dev/spdx/wheel"
# Packages of libraries that e2e/wheel/libraries.sh compiles itself, from Debian's sources.
COMPILED = {"libcpp-httplib.a": "libcpp-httplib-dev", "libprometheus-cpp-core.a": "prometheus-cpp-dev"}
# Libraries that are headers alone.
HEADERS = {
    "fmt": "libfmt-dev",
    "xxHash": "libxxhash-dev",
    "CLI11": "libcli11-dev",
    "nlohmann-json": "nlohmann-json3-dev",
}


def rows(text):
    """Library to the patterns of its static libraries' names."""
    return {name: [f"lib{word}.a" for word in archives.split()] for name, archives in ROW.findall(text)}


def library_of(archive, table):
    """The row that a static library stands in; an error where it stands in none."""
    base = pathlib.Path(archive).name
    for name, patterns in table.items():
        if any(fnmatch.fnmatchcase(base, pattern) for pattern in patterns):
            return name
    raise ValueError(f"{archive} is linked and stands in no row of {ROWS.relative_to(ROOT)}: add one")


def versions(text):
    """Library to version, of what `eidolon --version --verbose` prints."""
    said = dict(line.split(" ", 1) for line in text.splitlines()[1:])
    return {name: version for name, version in said.items() if not version.startswith("(")}


def package_of(archive):
    """The Debian package that a static library is of."""
    compiled = COMPILED.get(pathlib.Path(archive).name)
    if compiled:
        return compiled
    done = subprocess.run(["dpkg", "-S", archive], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.split(":")[0]


def debian_version(package):
    command = ["dpkg-query", "-W", "-f", "${Version}\n", package]
    return subprocess.check_output(command, text=True).splitlines()[0]


def upstream(version):
    """Debian's number without its own parts: 1:20220601+dfsg-1+b1 is 20220601."""
    return re.sub(r"([+~].*)?(-[^-]*)?$", "", version.split(":")[-1])


def purl(package, version):
    return f"pkg:deb/debian/{package}@{version.replace('+', '%2B').replace(':', '%3A')}?arch=amd64&distro=debian-12"


def identifier(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def described(name, version, packages, version_of=debian_version):
    """A library as an SPDX package. `packages`: of Debian."""
    numbers = {package: version_of(package) for package in sorted(packages)}
    return {
        "SPDXID": identifier(f"library-{name}"),
        "name": name,
        "versionInfo": version or upstream(next(iter(numbers.values()))),
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": purl(package, number),
            }
            for package, number in numbers.items()
        ],
    }


def bill(version, files, linked, said, table, package=package_of, version_of=debian_version):
    """The document. `files`: path in the wheel to bytes; `linked`: such a path to the static libraries in it; `said`:
    what the program prints of its versions."""
    known, packages, relations = versions(said), {}, []
    for path, archives in linked.items():
        for archive in archives:
            name = library_of(archive, table)
            packages.setdefault(name, set()).add(package(archive))
            relations.append((identifier(path), "STATIC_LINK", identifier(f"library-{name}")))
    for name in (name for name, archives in table.items() if not archives):
        packages[name] = {HEADERS[name]}
        relations.append(("SPDXRef-eidolon", "DEPENDS_ON", identifier(f"library-{name}")))
    relations.append(("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-eidolon"))
    relations += [("SPDXRef-eidolon", "CONTAINS", identifier(path)) for path in files]
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())}
    of_all = hashlib.sha256(repr(digests).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"eidolon-{version}",
        "documentNamespace": f"{SPACE}/{version}/{of_all}",
        "creationInfo": {"created": CREATED, "creators": ["Tool: e2e/package"]},
        "packages": [
            {
                "SPDXID": "SPDXRef-eidolon",
                "name": "eidolon",
                "versionInfo": version,
                "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False,
                "licenseConcluded": "Apache-2.0",
                "externalRefs": [
                    {
                        "referenceCategory": "PACKAGE-MANAGER",
                        "referenceType": "purl",
                        "referenceLocator": f"pkg:pypi/eidolon@{version}",
                    }
                ],
            },
            *(described(name, known.get(name), packages[name], version_of) for name in sorted(packages)),
        ],
        "files": [
            {
                "SPDXID": identifier(path),
                "fileName": f"./{path}",
                "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
            }
            for path, digest in digests.items()
        ],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in sorted(set(relations))
        ],
    }

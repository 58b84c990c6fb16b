"""Tests of a wheel's contents and of its bill of materials."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess

import bill
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

TABLE = {"gRPC": ["libgrpc++.a", "libgrpc.a"], "Abseil": ["libabsl_*.a"], "fmt": []}
SAID = "0.1.0\ngRPC 1.51.1\nAbseil (has no version number)\nfmt 9.1.0\n"
DEBIAN = {"libgrpc++-dev": "1.51.1-3+b1", "libabsl-dev": "20220623.1-1+deb12u2", "libfmt-dev": "9.1.0+ds1-2"}


def package(archive):
    return "libabsl-dev" if "absl" in archive else "libgrpc++-dev"


def document(linked):
    files = {path: b"program" for path in linked}
    return bill.bill("0.1.0", files, linked, SAID, TABLE, package, DEBIAN.__getitem__)


def test_the_rows_are_those_that_the_program_is_compiled_with():
    table = bill.rows(bill.ROWS.read_text())

    assert table["SQLite"] == ["libsqlite3.a"]
    assert bill.library_of("/usr/lib/libabsl_base.a", table) == "Abseil"
    assert {name for name, archives in table.items() if not archives} == set(bill.HEADERS)


def test_a_library_that_stands_in_no_row_stops_the_package():
    with pytest.raises(ValueError, match="libunknown.a is linked and stands in no row"):
        document({"eidolon/bin/eidolon": ["/usr/lib/libunknown.a"]})


def test_a_library_has_its_own_version_and_debians():
    made = document({"eidolon/bin/eidolon": ["/l/libgrpc++.a", "/l/libgrpc.a", "/l/libabsl_base.a"]})
    by_name = {entry["name"]: entry for entry in made["packages"]}

    assert sorted(by_name) == ["Abseil", "eidolon", "fmt", "gRPC"]
    assert by_name["gRPC"]["versionInfo"] == "1.51.1"
    assert by_name["Abseil"]["versionInfo"] == "20220623.1"
    locators = [ref["referenceLocator"] for ref in by_name["gRPC"]["externalRefs"]]
    assert locators == ["pkg:deb/debian/libgrpc++-dev@1.51.1-3%2Bb1?arch=amd64&distro=debian-12"]


def test_each_file_names_what_is_linked_into_it():
    made = document({"bin/one": ["/l/libgrpc.a"], "lib/two.so": ["/l/libabsl_base.a"]})
    links = [
        (row["spdxElementId"], row["relatedSpdxElement"])
        for row in made["relationships"]
        if row["relationshipType"] == "STATIC_LINK"
    ]

    assert links == [("SPDXRef-bin-one", "SPDXRef-library-gRPC"), ("SPDXRef-lib-two.so", "SPDXRef-library-Abseil")]


def test_equal_contents_make_equal_bills():
    linked = {"bin/one": ["/l/libgrpc.a"]}

    assert document(linked) == document(linked)


def test_every_relation_is_between_elements_of_the_document():
    made = document({"bin/one": ["/l/libgrpc.a"]})
    known = {"SPDXRef-DOCUMENT"} | {entry["SPDXID"] for entry in [*made["packages"], *made["files"]]}

    for row in made["relationships"]:
        assert {row["spdxElementId"], row["relatedSpdxElement"]} <= known


def test_every_file_of_the_python_package_is_in_the_wheel(tmp_path):
    loader = importlib.machinery.SourceFileLoader("package", str(ROOT / "e2e/package"))
    package = importlib.util.module_from_spec(importlib.util.spec_from_loader("package", loader))
    loader.exec_module(package)
    (tmp_path / "lib").mkdir()
    for name in [*package.PROGRAMS, "lib/libeidolon_shim.so"]:
        (tmp_path / name).touch()
    tracked = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "python/eidolon"], check=True, capture_output=True, text=True
    )

    names = {name for name, _, is_program in package.contents(tmp_path, tmp_path) if not is_program}

    assert names == {path.removeprefix("python/") for path in tracked.stdout.split()}

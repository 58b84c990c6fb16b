"""Step of e2e/kube/run about what e2e/release makes."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

from cluster_commands import ROOT, call, expect, kube

REGISTRY = "registry.example/eidolon"


class Released:
    """Mixed into Run; needs `build`."""

    def release(self):
        """Two releases of one build are equal; the chart names the images by their digests, and each has its bill."""
        with tempfile.TemporaryDirectory() as folder:
            outs = [pathlib.Path(folder) / name for name in ("one", "two")]
            for out in outs:
                call(
                    sys.executable,
                    "-B",
                    ROOT / "e2e/release",
                    "--build",
                    self.build,
                    "--out",
                    out,
                    "--registry",
                    REGISTRY,
                )
            sums = [(out / "SHA256SUMS").read_text() for out in outs]
            expect(sums[0] == sums[1], f"two releases differ:\n{sums[0]}\n{sums[1]}")
            call("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=outs[0])
            self.check_chart(outs[0])
            for bill in sorted((outs[0] / "images").glob("*.spdx.json")):
                self.check_bill(bill)
            names = [line.split("  ")[1] for line in sums[0].splitlines()]
            subjects = json.loads((outs[0] / "provenance.json").read_text())["subject"]
            told = {subject["name"] for subject in subjects} | {"provenance.json"}
            expect(told == set(names), f"provenance of {sorted(told)}")
            print(f"     {len(names)} files, twice the same: {', '.join(names)}")

    @staticmethod
    def check_chart(out):
        (package,) = out.glob("eidolon-*.tgz")
        text = kube("helm", "template", "eidolon", package, "--kube-version", "1.30.0")
        about = yaml.safe_load(kube("helm", "show", "chart", package))["annotations"]
        for image in ("services", "injection"):
            index = call("tar", "-xOf", out / f"images/{image}.tar", "index.json")
            digest = json.loads(index)["manifests"][0]["digest"]
            name = f"{REGISTRY}/{image}@{digest}"
            expect(name in text and name in about["artifacthub.io/images"], f"the chart does not name {name}")
        expect(not re.search(rf"{re.escape(REGISTRY)}/\w+:", text), "an image by its tag")

    @staticmethod
    def check_bill(path):
        """The bill names every file of the image, and each belongs to a package that is there."""
        bill = json.loads(path.read_text())
        archive = path.with_name(path.name.replace(".spdx.json", ".tar"))
        files = {entry["fileName"]: entry["SPDXID"] for entry in bill["files"]}
        listed = set()
        manifest = json.loads(call("tar", "-xOf", archive, "index.json"))["manifests"][0]["digest"].split(":")[1]
        for layer in json.loads(call("tar", "-xOf", archive, f"blobs/sha256/{manifest}"))["layers"]:
            blob = f"blobs/sha256/{layer['digest'].split(':')[1]}"
            names = subprocess.run(
                f"tar -xOf {archive} {blob} | tar -tzf -", shell=True, check=True, capture_output=True, text=True
            )
            listed |= {f"./{name}" for name in names.stdout.split() if not name.endswith("/")}
        expect(set(files) == listed, f"{path.name}: {set(files) ^ listed}")
        packages = {package["SPDXID"]: package["name"] for package in bill["packages"]}
        owned = {entry["relatedSpdxElement"] for entry in bill["relationships"] if entry["spdxElementId"] in packages}
        expect(owned == set(files.values()), f"{path.name}: files of no package")
        expect({"eidolon", "libc6"} <= set(packages.values()), f"{path.name}: packages {sorted(packages.values())}")

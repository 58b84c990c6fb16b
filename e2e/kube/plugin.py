"""Step of e2e/kube/run about `kubectl eidolon`, the plugin that the wheel brings."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile

from cluster_commands import CLUSTER, HERE, ROOT, TEAM, expect, get
from harder import PATIENCE_SECONDS

PROGRAM = """#!/bin/sh
PYTHONPATH={root}/python EIDOLON_PROGRAM={build}/bin/eidolon exec {python} -B -m eidolon.kubectl "$@"
"""


class Plugin:
    """Mixed into Run; needs `build`, and what Harder has."""

    def plugin(self):
        """kubectl eidolon submits and follows a job, prints logs, report and comparison, and says what is not there."""
        expect((self.build / "bin/eidolon").exists(), f"no eidolon in {self.build}: run e2e/build release eidolon")
        text = self.plugin_job("by-plugin")
        said = self.eidolon("submit", "--follow", "-f", "-", "-n", TEAM, text_in=text)
        mean = get("simjob", "by-plugin")["status"]["prediction"]["iterationSeconds"]["mean"]
        predicted = f"{mean * 1e3:.4g} ms"
        for words in ("simulationjob.eidolon.dev/by-plugin", "step 0", "Complete", predicted):
            expect(words in said, f"{words!r} is not in: {said}")
        self.eidolon("submit", "-f", "-", "-n", TEAM, text_in=self.plugin_job("by-plugin-2"))
        self.eidolon("wait", "by-plugin-2", "-n", TEAM)
        expect("step 0" in self.eidolon("-n", TEAM, "logs", "by-plugin"), "no log")
        expect(predicted in self.eidolon("report", "by-plugin", "-n", TEAM), "no report")
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "report.html"
            self.eidolon("report", "by-plugin", "-n", TEAM, "--html", page)
            expect("<html" in page.read_text(), "no page")
        expect("speed-up" in self.eidolon("compare", "by-plugin", "by-plugin-2", "-n", TEAM), "no comparison")
        expect("by-plugin-2" in self.eidolon("get", "-n", TEAM), "no list")
        for words, told in [
            (("timeline", "by-plugin"), "keeps no timeline"),
            (("recording", "by-plugin"), "keeps no recording"),
            (("report", "nobody"), '"nobody" not found'),
            (("report", "by-plugin", f"--as=system:serviceaccount:{TEAM}:default"), "forbidden"),
        ]:
            said = self.eidolon(*words, "-n", TEAM, status=1)
            expect(told in said, f"{words}: {said}")
        for job in ("by-plugin", "by-plugin-2"):
            self.leaves_nothing(job)

    def plugin_job(self, name):
        text = (HERE / "jobs/job.yaml").read_text().replace("name: first", f"name: {name}")
        text = text.replace("@IMAGE@", "e2e.local/debian:12").replace("[torchrun, train.py]", "[python3, light.py]")
        return text + "  podTemplate: {securityContext: {runAsUser: 1000}}\n"

    def eidolon(self, *words, text_in=None, status=0):
        """What the plugin prints, found by kubectl as a user's would be."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "kubectl-eidolon"
            program.write_text(PROGRAM.format(root=ROOT, build=self.build, python=sys.executable))
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            done = subprocess.run(
                [str(CLUSTER / "kube.sh"), "kubectl", "eidolon", *map(str, words)],
                input=text_in,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=PATIENCE_SECONDS,
                env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
            )
        expect(done.returncode == status, f"kubectl eidolon {' '.join(map(str, words))}: {done.stdout}")
        return done.stdout

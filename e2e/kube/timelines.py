"""Steps of e2e/kube/run about what a job leaves: its timeline, its recording."""

import json
import pathlib
import sys
import tempfile

from cluster_commands import NAMESPACE, ROOT, TEAM, call, expect, finished, kube, kubectl, pod_ip, user
from harder import PATIENCE_SECONDS, Rest

NAME = "timed"
RECORDED = "recorded"
RULE = {"timeline": {"iterations": 1}}
# Of an iteration: what lies on which track, since the first slice. Lines of Python name folders, which differ.
SLICES = """
    SELECT parent.name AS above, track.name AS track, slice.name AS name, category, dur,
           ts - (SELECT min(ts) FROM slice) AS ts
    FROM slice JOIN track ON track.id = track_id LEFT JOIN track parent ON parent.id = track.parent_id
"""
COUNTERS = """
    SELECT track.name AS track, value, ts - (SELECT min(ts) FROM slice) AS ts
    FROM counter JOIN track ON track.id = track_id
"""


class Timelines:
    """Mixed into Run; needs its cluster, images, `build`, `document` and `embedded_document`."""

    def timelines(self):
        """A job's timeline and critical path are those of embedded mode; each controller gives the same file."""
        kubectl("-n", TEAM, "delete", "simjob", NAME, "--ignore-not-found", "--timeout=120s")
        document = self.document(NAME)
        document["spec"]["outputs"] = RULE
        kubectl("-n", TEAM, "apply", "-f", "-", text_in=json.dumps(document))
        status = finished(NAME, PATIENCE_SECONDS)
        expect(status["phase"] == "Complete" and "timeline" in status, json.dumps(status)[:3000])
        with tempfile.TemporaryDirectory() as folder:
            trace = self.fetch_from_each(pathlib.Path(folder), status)
            path = pathlib.Path(folder) / "embedded.pftrace"
            embedded = self.timed_embedded(path)
            self.is_as_embedded(trace, path)
        for part in ("iterationPicoseconds", "criticalPath"):
            told = [one["prediction"].get(part) for one in (status, embedded)]
            expect(told[0] == told[1] and told[0], f"{part}: Kubernetes {told[0]}, embedded {told[1]}")
        kubectl("-n", TEAM, "delete", "simjob", NAME, "--timeout=120s")

    def recordings(self):
        """A job's recording, from each controller the same, replays to the same prediction to the picosecond."""
        kubectl("-n", TEAM, "delete", "simjob", RECORDED, "--ignore-not-found", "--timeout=120s")
        document = self.document(RECORDED)
        document["spec"]["outputs"] = {"recording": True}
        document["spec"].setdefault("env", []).append({"name": "SECRET", "value": "kept-to-itself"})
        kubectl("-n", TEAM, "apply", "-f", "-", text_in=json.dumps(document))
        status = finished(RECORDED, PATIENCE_SECONDS)
        expect(status["phase"] == "Complete" and "recording" in status, json.dumps(status)[:3000])
        with tempfile.TemporaryDirectory() as folder:
            file = self.fetch_from_each(pathlib.Path(folder), status, RECORDED, "recording")
            expect(b"kept-to-itself" not in file.read_bytes(), "the recording has a variable of the environment")
            told = call(self.build / "bin/eidolon", "replay", file, "-o", "json")
        part = "iterationPicoseconds"
        times = [one["prediction"][part] for one in (status, json.loads(told)["status"])]
        expect(times[0] == times[1] and times[0], f"{part}: run {times[0]}, replay {times[1]}")
        print(f"     {times[0]} ps, run and replay")
        kubectl("-n", TEAM, "delete", "simjob", RECORDED, "--timeout=120s")

    def fetch_from_each(self, folder, status, name=NAME, what="timeline"):
        """What each controller gives by `eidolon timeline` or `eidolon recording`, and the service by REST."""
        user("alice")
        rest = Rest("alice")
        (folder / "token").write_text(rest.token)
        pods = kubectl(
            "-n", NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/component=controller", "-o", "name"
        ).split()
        expect(len(pods) > 1, f"controllers: {pods}")
        files = []
        for number, pod in enumerate(pods):
            files.append(folder / f"{number}.{what}")
            address = pod_ip(pod.rpartition("/")[2]) + ":8080"
            words = ("--server", f"http://{address}", "--token-file", folder / "token", "-n", TEAM)
            kube(self.build / "bin/eidolon", *words, what, name, "-o", files[-1])
        files.append(folder / f"rest.{what}")
        url = rest.url(f"/api/v1/namespaces/{TEAM}/simulationjobs/{name}/{what}")
        kube("curl", "-sS", "--fail", "-m", "60", "-o", files[-1], "-H", f"Authorization: Bearer {rest.token}", url)
        sizes = {file.stat().st_size for file in files}
        expect(sizes == {status[what]["bytes"]}, f"{sizes} bytes of {status[what]}")
        expect(len({file.read_bytes() for file in files}) == 1, "controllers give different files")
        print(f"     {len(files)} times the same {sizes.pop()} bytes, from {len(pods)} controllers")
        return files[0]

    def timed_embedded(self, path):
        sys.path.insert(0, str(ROOT / "e2e/harness"))
        from server import Server

        document = self.embedded_document()
        document["spec"]["outputs"] = RULE
        environment = call(ROOT / "e2e/environment").strip()
        with Server(self.build, environment) as server:
            job = server.run(json.dumps(document), seconds=PATIENCE_SECONDS)
            name = job["metadata"]["name"]
            call(self.build / "bin/eidolon", "--data-dir", server.data, "timeline", name, "-o", path)
        expect(job["status"]["phase"] == "Complete", json.dumps(job["status"]["conditions"], indent=1))
        return job["status"]

    @staticmethod
    def is_as_embedded(trace, embedded):
        sys.path.insert(0, str(ROOT / "e2e/harness"))
        import trace_tables

        for sql in (SLICES, COUNTERS):
            rows = [sorted(map(repr, trace_tables.ask(path, sql))) for path in (trace, embedded)]
            different = sorted(set(rows[0]) ^ set(rows[1]))
            expect(rows[0] == rows[1] and rows[0], f"{len(different)} rows differ: {different[:6]}")
            print(f"     {len(rows[0])} rows as in embedded mode")

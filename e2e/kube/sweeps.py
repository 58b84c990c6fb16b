"""The step of e2e/kube/run about sweeps."""

import json

from cluster_commands import TEAM, expect, kubectl, wait

PATH = f"/apis/eidolon.dev/v1alpha1/namespaces/{TEAM}/simulationsweeps"
OWN = "eidolon.dev/sweep=widths"


def status_of(sweep):
    return json.loads(kubectl("get", "--raw", f"{PATH}/{sweep}")).get("status", {})


def jobs_of_sweep():
    items = json.loads(kubectl("-n", TEAM, "get", "simjob", "-l", OWN, "-o", "json"))["items"]
    return {job["metadata"]["name"]: job for job in items}


class Sweeps:
    """Mixed into Run; needs what Harder has."""

    def sweeps(self):
        """A sweep has a job for each point, goes on after kill -9 of the controller, runs nothing twice, takes its jobs
        with it."""
        self.give_code()
        job = self.light_document("widths", spin=20_000)["spec"]
        del job["clusterRef"]
        server = {"preset": "dgx-h100", "gpusPerServer": 2, "nics": {"count": 2}}
        job["cluster"] = {"servers": 2, "server": server}
        job["iterations"] = {"warmup": 3, "measure": 60}
        sweep = {
            "apiVersion": "eidolon.dev/v1alpha1",
            "kind": "SimulationSweep",
            "metadata": {"name": "widths"},
            "spec": {
                "job": job,
                "matrix": {"cluster.server.nics.gbps": [100, 200, 400]},
                "price": {"H100-SXM5-80GB": 2.5},
            },
        }
        wrong = {**sweep, "metadata": {"name": "wrong"}, "spec": {**sweep["spec"], "matrix": {"servers": [0]}}}
        kubectl("-n", TEAM, "apply", "-f", "-", text_in=json.dumps(sweep))
        kubectl("-n", TEAM, "apply", "-f", "-", text_in=json.dumps(wrong))
        wait("the wrong one is refused", 60, lambda: status_of("wrong").get("phase") == "Failed")
        said = json.dumps(status_of("wrong")["conditions"])
        expect("/spec/matrix/servers" in said, said)
        kubectl("-n", TEAM, "delete", "simsweep", "wrong", "--timeout=60s")

        wait("a point is known", 240, lambda: status_of("widths").get("counts", {}).get("complete", 0) >= 1)
        self.suspend_and_resume()
        before = {name: job["metadata"]["uid"] for name, job in jobs_of_sweep().items()}
        self.kill_controller("widths")
        wait("all points are known", 480, lambda: status_of("widths").get("phase") in ("Complete", "Failed"))
        status = status_of("widths")
        expect(status["counts"]["complete"] == 3, json.dumps(status))
        seconds = [point["iterationSeconds"] for point in status["points"]]
        expect(seconds[0] > seconds[1] > seconds[2], f"NICs of 100, 200 and 400 Gbit/s: {seconds}")
        jobs = jobs_of_sweep()
        expect(sorted(jobs) == ["widths-p1", "widths-p2", "widths-p3"], f"jobs: {sorted(jobs)}")
        for name, uid in before.items():
            expect(jobs[name]["metadata"]["uid"] == uid, f"{name} was made again")
        expect(jobs["widths-p1"]["status"]["attempt"] == 1, "a point that was known ran again")
        table = kubectl("-n", TEAM, "get", "simsweep", "widths")
        expect("Complete" in table and " 3 " in table, table)
        expect("env.NAME" in kubectl("explain", "simulationsweep.spec.matrix"), "no explain text")
        change = json.dumps({"spec": {"price": {"H100-SXM5-80GB": 3}}})
        said = kubectl("-n", TEAM, "patch", "simsweep", "widths", "--type=merge", "-p", change, check=False)
        expect("patched" not in said, f"a sweep was changed: {said}")
        print(f"     {len(before)} jobs before the kill; iterations of {', '.join(f'{s:.6f}' for s in seconds)} s")

        kubectl("-n", TEAM, "delete", "simsweep", "widths", "--timeout=60s")
        wait("its jobs are gone", 120, lambda: not jobs_of_sweep())

    def suspend_and_resume(self):
        """A suspended sweep lets its job end and begins no other; resumed, with another concurrency, it goes on."""
        done = status_of("widths")["counts"]["complete"]
        kubectl("-n", TEAM, "patch", "simsweep", "widths", "--type=merge", "-p", '{"spec": {"suspend": true}}')
        wait("no job of the suspended sweep runs", 240, lambda: status_of("widths").get("phase") == "Pending")
        status = status_of("widths")
        known = status["counts"]["complete"]
        expect(done <= known <= done + 1 and len(jobs_of_sweep()) == known, json.dumps(status))
        listed = kubectl("-n", TEAM, "get", "simsweep", "--field-selector", "spec.suspend=true", "-o", "name")
        expect("widths" in listed, listed)
        change = json.dumps({"spec": {"suspend": False, "concurrency": 2}})
        kubectl("-n", TEAM, "patch", "simsweep", "widths", "--type=merge", "-p", change)
        wait("another point begins", 120, lambda: len(jobs_of_sweep()) > known)

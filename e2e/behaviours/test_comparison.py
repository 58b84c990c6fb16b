"""`eidolon compare` of jobs that have run."""

import json

from jobs import expect_complete

STEP = """
import torch
weight = torch.zeros(1024, 1024, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(8):
    loss = (torch.ones(256, 1024, device="cuda") @ weight).square().mean()
    {more}
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def eidolon(world, *words, status=0):
    done = world.eidolon(*words)
    assert done.returncode == status, f"{words} ended with {done.returncode}: {done.stderr}"
    return done.stdout if status == 0 else done.stderr


def field_at(job, path):
    """Returns the value at a path such as `status.prediction.kernels[3]`."""
    for key in path.replace("[", ".[").split("."):
        job = job[int(key[1:-1])] if key.startswith("[") else job[key]
    return job


def test_compare_says_what_changed_between_two_jobs_of_a_server_or_of_files(world):
    first = world.run(STEP.format(more=""))
    second = world.run(STEP.format(more="torch.sort(weight.detach())"), gpu="A100-SXM4-80GB")
    for job in (first, second):
        expect_complete(job)
    names = [job["metadata"]["name"] for job in (first, second)]
    compared = json.loads(eidolon(world, "compare", *names, "-o", "json"))
    means = [job["status"]["prediction"]["iterationSeconds"]["mean"] for job in (first, second)]
    assert compared["time"]["speedup"] == means[0] / means[1] < 1, f"the times: {compared['time']}"
    fields = {row["path"]: (row.get("first"), row.get("second")) for row in compared["fields"]}
    gpus = ("H100-SXM5-80GB", "A100-SXM4-80GB")
    assert fields.get("cluster.server.gpu") == gpus, f"the fields: {fields}"
    appeared = [row["name"] for row in compared["kernels"] if "first" not in row]
    assert any("sort" in name.lower() for name in appeared), f"kernels of the second alone: {appeared}"
    parts = sum(row["second"] - row["first"] for row in compared["breakdown"])
    assert abs(parts - (means[1] - means[0])) < 1e-9, f"the parts differ by {parts}"

    why = compared["why"]
    explained = sum(cause["seconds"] for cause in why["causes"]) + why["unexplained"]["seconds"]
    assert abs(explained - (means[1] - means[0])) < 1e-12, f"the causes explain {explained}: {why}"
    assert abs(why["unexplained"]["share"]) < 1e-6, f"kernels of one stream explain everything: {why}"
    causes = {cause["cause"]: cause for cause in why["causes"]}
    assert {"kernelsNew", "kernelsTimed"} <= set(causes), f"a sort and another GPU: {sorted(causes)}"
    assert "cluster.server.gpu is A100" in causes["kernelsTimed"]["sentence"], f"{causes['kernelsTimed']}"
    for cause in why["causes"]:
        for side, job in zip(("first", "second"), (first, second), strict=True):
            for path in cause[side]:
                field_at(job, path)

    for name in names:
        (world.folder / f"{name}.json").write_text(eidolon(world, "get", name, "-o", "json"))
    files = [world.folder / f"{name}.json" for name in names]
    assert json.loads(eidolon(world, "compare", *files, "-o", "json")) == compared, "files compare otherwise"
    text = eidolon(world, "compare", names[0], files[1])
    for words in (f"A  {names[0]}", "A is ", "why (shares of", "only B", "speed-up", "cluster.server.gpu"):
        assert words in text, f"'{words}' is not in: {text}"
    assert "both predict the same time" in eidolon(world, "compare", names[0], names[0]), "a job is not itself"
    assert "no-such-job" in eidolon(world, "compare", names[0], "no-such-job", status=1), "an unknown job"

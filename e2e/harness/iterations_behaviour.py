"""What users are told of iterations. Run by behaviour.py."""
import subprocess

from trial import expect, expect_complete, test


def report_of(world, job):
    """The report as `eidolon get` prints it."""
    done = subprocess.run([world.build / "bin" / "eidolon", "--server", world.server.address, "get",
                           job["metadata"]["name"]], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0, f"{done}")
    return done.stdout


# One step of eight writes a checkpoint.
CHECKPOINT = """
    import time, torch
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(8):
        model(torch.ones(512, 2048, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 4:
            torch.save(model.state_dict(), "checkpoint.pt")
            time.sleep(2)
"""


@test
def an_iteration_unlike_the_others_is_told(world):
    job = world.run(CHECKPOINT, measure=6)
    expect_complete(job)
    prediction = job["status"]["prediction"]
    seconds, uneven = prediction["iterationSeconds"], prediction.get("unevenIterations")
    expect(seconds["mean"] > 2 * seconds["p50"], f"{seconds}")
    expect(uneven and uneven["count"] == 1, f"{prediction}")
    odd = uneven["iterations"][0]
    # An iteration ends with the optimizer: what comes behind it belongs to the next.
    expect(odd["iteration"] == 6, f"{odd}")
    expect(abs(odd["more"]["host"] - 2) < 0.1, f"{odd}")
    # 8 matrices of 2048 x 2048 float32 over PCIe, in pageable memory.
    expect(0.01 < odd["more"]["copiesToHost"] < 0.1, f"{odd}")
    report = report_of(world, job)
    expect("1 of 6 iterations is far from the median" in report and "iteration 6: 2." in report
           and "more: host 2.0" in report, report)
    print("     " + "\n     ".join(line for line in report.splitlines() if "iteration" in line))
    even = world.run(CHECKPOINT.replace("step == 4", "False"), measure=6)
    expect("unevenIterations" not in even["status"]["prediction"], "even iterations are called uneven")

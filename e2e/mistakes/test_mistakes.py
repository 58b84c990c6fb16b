"""Each mistake is made for real, by the command, by a document, by a training script or over REST. The message holds the
way out, the exit status is that of a failure, and docs/reference/generated/messages.md shows both."""

import subprocess
import urllib.error
import urllib.request

import pytest
from jobs import World
from mistakes import FILES, MISTAKES, NAMES, PREDICTED, REQUESTS


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_answered_with_the_way_out(mistake, build, torch_python, place, table, request):
    if mistake.shown:  # Most others are found before any program runs.
        World.starts += "import torch" in FILES.get(mistake.words.split()[-1], "")
    names, at = {str(place): "FOLDER", str(torch_python): "PYTHON"}, []
    if mistake.asks_server:
        data = str(request.getfixturevalue("strict_server").data)
        names, at = {**names, data: "DATA"}, ["--data-dir", data]
    done = subprocess.run(
        [build / "bin/eidolon", *at, *mistake.words.split()],
        cwd=place,
        env={"PATH": f"{torch_python}/bin:/usr/bin:/bin", "HOME": str(place)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    text = done.stderr + done.stdout
    for path, stands in names.items():
        text = text.replace(path, stands)
    assert mistake.wanted in text
    # Of a program without repetition the whole is predicted, which the report says.
    assert done.returncode != 0 or mistake.name in PREDICTED
    assert text.count("Traceback (most recent call last)") <= 1
    table.expect(mistake.name, f"eidolon {mistake.shown or mistake.words}", done.returncode, text)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_answered_with_the_way_out(name, strict_server, table):
    method, path, has_token, wanted = REQUESTS[name]
    request = urllib.request.Request(f"http://{strict_server.address}{path}", method=method)
    if has_token:
        request.add_header("Authorization", f"Bearer {strict_server.token()}")
    if method == "POST":
        request.add_header("Content-Type", "application/yaml")
        request.data = b""
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=5)
    text = refused.value.read().decode().replace(str(strict_server.data), "DATA")
    assert wanted in text
    table.expect(name, f"{method} {path}", refused.value.code, text)


def test_the_table_has_a_row_for_each_mistake_and_no_other(table):
    assert table.update or table.text == table.page(NAMES)

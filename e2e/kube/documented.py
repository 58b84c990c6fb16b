"""Step of e2e/kube/run that does what helm/README.md says, word for word."""

import pathlib
import shlex
import subprocess
import tempfile
import time

from claims import commands
from cluster_commands import CLUSTER, HERE, ROOT, call, expect, finished, kubectl, make_namespace
from harder import PATIENCE_SECONDS

SPACE = "readme"
IMAGE = "registry.example/team/train:1"


def install_words():
    """`helm install ...`, as the README has it."""
    words = shlex.split(commands().splitlines()[0])
    expect(words[:3] == ["helm", "install", "eidolon"], f"the README begins with {words}")
    return words


class Documented:
    """Mixed into Run; needs `torch_image`."""

    def readme(self):
        """The cluster and the job of helm/README.md, with the image alone replaced, and its watch until the end."""
        text = commands()
        expect(IMAGE in text, text)
        lines = text.replace(IMAGE, self.torch_image).splitlines()
        make_namespace(SPACE)
        watch = None
        try:
            watched = open(self.state / "log/readme.watch", "w+")
            self.obey("\n".join(lines[1:-1]))
            self.again_from_files(text)
            watch = subprocess.Popen(
                [str(CLUSTER / "kube.sh"), *shlex.split(lines[-1]), "-n", SPACE], stdout=watched, cwd=HERE / "jobs"
            )
            status = finished("first", PATIENCE_SECONDS, SPACE)
            expect(status["phase"] == "Complete", f"{status['conditions']}")
            time.sleep(2)
            watched.seek(0)
            shown = watched.read()
            expect("Complete" in shown and status["predicted"] in shown, f"watched: {shown}")
            print(f"     {shown.splitlines()[-1]}")
        finally:
            if watch:
                watch.kill()
                watch.wait()
            kubectl("delete", "namespace", SPACE, "--timeout=120s", timeout=150)

    def again_from_files(self, text):
        """README.md applies the same two documents as files; they are there by now, and stay what they are."""
        line = next(line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("kubectl apply"))
        documents = text.replace(IMAGE, self.torch_image).partition("<<END\n")[2].partition("\nEND")[0]
        with tempfile.TemporaryDirectory() as folder:
            for name, document in zip(("cluster.yaml", "job.yaml"), documents.split("\n---\n")):
                (pathlib.Path(folder) / name).write_text(document + "\n")
            self.obey(f"cd {folder}\n{line}")

    @staticmethod
    def obey(text):
        """Runs lines as a user would who has set the namespace, in the folder of the program."""
        shell = f'set -e\nkubectl() {{ command kubectl -n {SPACE} "$@"; }}\n{text}\n'
        call("bash", "-c", f"cd {HERE / 'jobs'} && exec {CLUSTER / 'kube.sh'} bash -s", text_in=shell)

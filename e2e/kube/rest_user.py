"""A user of the REST interface: a service account with a role in one namespace."""

from cluster_commands import NAMESPACE, TEAM, in_cluster, kubectl

AUDIENCE = "rest.eidolon.dev"


def token_of(name, namespace=TEAM):
    return kubectl("-n", namespace, "create", "token", name, "--audience", AUDIENCE).strip()


class Rest:
    def __init__(self, user, namespace=TEAM):
        words = ("get", "service", "eidolon-controller", "-o", "jsonpath={.spec.clusterIP}")
        self.address = kubectl("-n", NAMESPACE, *words).strip() + ":8080"
        self.token = token_of(user, namespace)

    def url(self, path):
        return f"http://{self.address}{path}"

    def call(self, method, path, body=None, headers=(), token=None, seconds=60):
        """(status, headers in lower case, body)."""
        command = ["curl", "-sS", "-i", "-m", str(seconds), "-X", method, self.url(path)]
        if token is None:
            token = self.token
        for header in ([f"Authorization: Bearer {token}"] if token else []) + list(headers):
            command += ["-H", header]
        if body is not None:
            command += ["-H", "Content-Type: application/json", "--data-binary", "@-"]
        text = in_cluster(*command, text_in=body, timeout=seconds + 10).replace("\r\n", "\n")
        head, _, content = text.partition("\n\n")
        while head.startswith("HTTP/1.1 100"):
            head, _, content = content.partition("\n\n")
        lines = head.splitlines()
        named = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        return int(lines[0].split()[1]), named, content

    def status(self, *words, **more):
        return self.call(*words, **more)[0]

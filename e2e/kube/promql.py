"""The part of Prometheus' query language that our dashboards use, over two scrapes: selectors, rate, sum and max with
`by`, arithmetic. It stands in for a Prometheus where none is to be had; promql_test.py holds it to Prometheus' rules.
What it does not know is an error, never an empty answer.
"""
import re

SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$")
LABEL = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
TOKEN = re.compile(r'\s*([a-zA-Z_:][\w:]*|"(?:[^"\\]|\\.)*"|\{[^}]*\}|\[[^\]]*\]|\d+(?:\.\d+)?|[()+\-*/,])')


class QueryError(Exception):
    pass


def parse_page(text, target=None):
    """Samples of a page in text format: [(name, labels, value)]. Labels of the scrape target never replace those of a
    sample (honorLabels)."""
    samples = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = SAMPLE.match(line)
        if not match:
            raise QueryError(f"not a sample: {line}")
        labels = dict(target or {})
        labels.update({name: value for name, _, value in LABEL.findall(match.group(2) or "")})
        samples.append((match.group(1), labels, float(match.group(3))))
    return samples


def matches(labels, matchers):
    tests = {"=": lambda have, want: have == want, "!=": lambda have, want: have != want,
             "=~": lambda have, want: re.fullmatch(want, have) is not None,
             "!~": lambda have, want: re.fullmatch(want, have) is None}
    return all(tests[how](labels.get(name, ""), want) for name, how, want in matchers)


def key(labels):
    return tuple(sorted(labels.items()))


class Query:
    """One query over scrapes [(seconds, samples)], the last of which is now."""

    def __init__(self, text, scrapes):
        self.text, self.scrapes = text, scrapes
        self.tokens = self.split(text)
        self.at = 0

    @staticmethod
    def split(text):
        tokens, at = [], 0
        while at < len(text.rstrip()):
            match = TOKEN.match(text, at)
            if not match:
                raise QueryError(f"cannot read {text[at:]!r}")
            tokens.append(match.group(1))
            at = match.end()
        return tokens

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted=None):
        token = self.peek()
        if wanted is not None and token != wanted:
            raise QueryError(f"{self.text}: {wanted!r} wanted, not {token!r}")
        self.at += 1
        return token

    def run(self):
        """[(labels, value)]; a number is one entry without labels."""
        value = self.sum()
        if self.peek():
            raise QueryError(f"{self.text}: {self.peek()!r} is not understood")
        return [({}, value)] if isinstance(value, float) else value

    def sum(self):
        left = self.product()
        while self.peek() in ("+", "-"):
            left = self.combine(self.take(), left, self.product())
        return left

    def product(self):
        left = self.term()
        while self.peek() in ("*", "/"):
            left = self.combine(self.take(), left, self.term())
        return left

    @staticmethod
    def combine(operator, left, right):
        def apply(a, b):
            if operator == "/":
                return a / b if b else float("nan") if a == 0 else float("inf") * (1 if a > 0 else -1)
            return {"+": a + b, "-": a - b, "*": a * b}[operator]
        if isinstance(left, float) and isinstance(right, float):
            return apply(left, right)
        if isinstance(right, float):
            return [(labels, apply(value, right)) for labels, value in left]
        if isinstance(left, float):
            return [(labels, apply(left, value)) for labels, value in right]
        other = {key(labels): value for labels, value in right}
        return [(labels, apply(value, other[key(labels)])) for labels, value in left if key(labels) in other]

    def term(self):
        token = self.take()
        if token == "(":
            value = self.sum()
            self.take(")")
            return value
        if re.fullmatch(r"\d+(\.\d+)?", token):
            return float(token)
        if token in ("sum", "max", "min", "avg", "count"):
            return self.aggregate(token)
        if token == "rate":
            self.take("(")
            value = self.rate(self.take())
            self.take(")")
            return value
        if not re.fullmatch(r"[a-zA-Z_:][\w:]*", token) or self.peek() == "(":
            raise QueryError(f"{self.text}: {token!r} is not understood")
        return [(labels, value) for labels, value in self.select(token, self.matchers(), -1)]

    def matchers(self):
        if not self.peek().startswith("{"):
            return []
        inside = self.take()[1:-1]
        found = LABEL.findall(inside)
        if LABEL.sub("", inside).strip(" ,"):
            raise QueryError(f"{self.text}: {inside!r} is not understood")
        return found

    def select(self, name, matchers, scrape):
        return [(labels, value) for sample, labels, value in self.scrapes[scrape][1]
                if sample == name and matches(labels, matchers)]

    def rate(self, name):
        matchers = self.matchers()
        if not self.take().startswith("["):
            raise QueryError(f"{self.text}: rate needs a range")
        first = {key(labels): value for labels, value in self.select(name, matchers, 0)}
        seconds = self.scrapes[-1][0] - self.scrapes[0][0]
        rates = []
        for labels, value in self.select(name, matchers, -1):
            if key(labels) in first and seconds > 0:
                before = first[key(labels)]
                rates.append((labels, (value - before if value >= before else value) / seconds))  # A counter's reset.
        return rates

    def aggregate(self, how):
        by = []
        if self.peek() == "by":
            self.take()
            self.take("(")
            while self.peek() != ")":
                by.append(self.take())
                if self.peek() == ",":
                    self.take()
            self.take(")")
        self.take("(")
        values = self.sum()
        self.take(")")
        groups = {}
        for labels, value in values:
            groups.setdefault(key({name: labels[name] for name in by if name in labels}), []).append(value)
        functions = {"sum": sum, "max": max, "min": min, "count": lambda v: float(len(v)),
                     "avg": lambda v: sum(v) / len(v)}
        return [(dict(labels), functions[how](members)) for labels, members in groups.items()]


def evaluate(text, scrapes):
    return Query(text, scrapes).run()

#!/usr/bin/env python3
"""The evaluator of queries, held to what Prometheus answers to the same."""
import math
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from promql import QueryError, evaluate, parse_page  # noqa: E402

PAGE = """# HELP jobs_total Jobs.
# TYPE jobs_total counter
jobs_total{result="Complete",reason="a \\"b\\""} 4
jobs_total{result="Failed"} 1
level{namespace="own"} 2.5
level 1e3
lat_bucket{le="+Inf"} 7 1700000000000
"""


class PromqlTest(unittest.TestCase):
    def setUp(self):
        before = parse_page('jobs_total{result="Complete",reason="a \\"b\\""} 2\njobs_total{result="Failed"} 3\n',
                            {"pod": "p"})
        self.scrapes = [(100.0, before), (110.0, parse_page(PAGE, {"pod": "p", "namespace": "target"}))]
        self.scrapes[0] = (100.0, [(n, {**labels, "namespace": "target"}, v) for n, labels, v in before])

    def ask(self, text):
        return sorted(evaluate(text, self.scrapes), key=lambda entry: sorted(entry[0].items()))

    def test_selects_by_all_matchers(self):
        self.assertEqual(len(self.ask("jobs_total")), 2)
        self.assertEqual([value for _, value in self.ask('jobs_total{result="Failed"}')], [1.0])
        self.assertEqual([value for _, value in self.ask('jobs_total{result=~"Comp.*"}')], [4.0])
        self.assertEqual(self.ask('jobs_total{result=~"Comp"}'), [], "patterns match whole values")
        self.assertEqual([value for _, value in self.ask('jobs_total{result!="Failed",pod="p"}')], [4.0])
        self.assertEqual([value for _, value in self.ask('jobs_total{absent=""}')], [4.0, 1.0])

    def test_labels_of_a_sample_win_over_the_targets(self):
        self.assertEqual([value for _, value in self.ask('level{namespace="own"}')], [2.5])
        self.assertEqual([value for _, value in self.ask('level{namespace="target"}')], [1000.0])

    def test_rate_knows_resets_and_needs_two_scrapes(self):
        rates = {labels["result"]: value for labels, value in self.ask("rate(jobs_total[1m])")}
        self.assertEqual(rates, {"Complete": 0.2, "Failed": 0.1})
        self.assertEqual(self.ask("rate(level[1m])"), [])

    def test_aggregates_by_labels(self):
        self.assertEqual(self.ask("sum(jobs_total)"), [({}, 5.0)])
        self.assertEqual(self.ask("max by (pod, nothing) (jobs_total)"), [({"pod": "p"}, 4.0)])
        self.assertEqual(self.ask("sum by (result) (jobs_total)"), [({"result": "Complete"}, 4.0),
                                                                    ({"result": "Failed"}, 1.0)])
        self.assertEqual(self.ask("sum(nothing)"), [], "no sum of nothing")

    def test_arithmetic_joins_equal_labels(self):
        self.assertEqual(self.ask("sum(jobs_total) / (sum(jobs_total) + sum(level{namespace=\"own\"}))"),
                         [({}, 5 / 7.5)])
        self.assertEqual(self.ask("sum(jobs_total) * 2 - 1"), [({}, 9.0)])
        self.assertTrue(math.isnan(self.ask("0 / 0")[0][1]))
        self.assertEqual(self.ask("jobs_total / level"), [])

    def test_refuses_what_it_does_not_know(self):
        for text in ("histogram_quantile(0.9, x)", "rate(x)", "x{a<1}", "sum(x", "x offset 5m", "x{a=\"b\" c}"):
            with self.assertRaises(QueryError, msg=text):
                self.ask(text)
        with self.assertRaises(QueryError):
            parse_page("what is this\n")


if __name__ == "__main__":
    unittest.main()

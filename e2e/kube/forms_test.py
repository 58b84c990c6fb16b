#!/usr/bin/env python3
"""Tests of which steps a form of e2e/kube/run has, and of what a failed step does to the others. Need no cluster."""

import contextlib
import io
import pathlib
import runpy
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

import forms  # noqa: E402
from cluster_commands import Failure  # noqa: E402

HANDFUL = 2 * forms.GROUPS - 1
MINUTES_MAX = 8


class Steps:
    """A run whose steps do what their names say."""

    def __init__(self):
        self.log = []

    def bring(self, name):
        self.log.append(f"bring {name}")

    def tidy(self):
        self.log.append("tidy")

    def install(self):
        """Stands for one of the first steps."""
        raise Failure("no chart")

    def fails(self):
        """Fails as a step does that finds something wrong."""
        raise Failure("wrong")

    def trips(self):
        """Fails as a step does that is surprised by an answer."""
        return {}["status"]

    def passes(self):
        """Passes."""


def run_steps(*names):
    run, text = Steps(), io.StringIO()
    with contextlib.redirect_stdout(text):
        result = forms.run_steps(run, list(names))
    return result, run.log, text.getvalue()


class FailureTest(unittest.TestCase):
    def test_a_failed_step_hides_no_other(self):
        result, log, text = run_steps("fails", "trips", "passes")
        self.assertEqual(result, (["fails", "trips"], []))
        self.assertEqual(log, ["bring fails", "tidy", "bring trips", "tidy", "bring passes"])
        for line in ("FAIL fails", "FAIL trips", "KeyError: 'status'", "ok   passes"):
            self.assertIn(line, text)

    def test_nothing_runs_without_the_first_steps(self):
        result, log, _ = run_steps("install", "passes")
        self.assertEqual(result, (["install"], ["passes"]))
        self.assertNotIn("bring passes", log)


class FormsTest(unittest.TestCase):
    def test_each_step_is_a_method_with_words_about_it(self):
        methods = runpy.run_path(str(HERE / "run"))["Run"]
        for name in forms.ORDER:
            self.assertTrue(getattr(methods, name).__doc__, name)
        self.assertEqual(len(forms.ORDER), len(set(forms.ORDER)))

    def test_each_step_of_the_whole_form_is_fixed_or_sampled(self):
        self.assertEqual(sorted(forms.STEPS), sorted([*forms.FIRST, *forms.FIXED, *forms.SAMPLED, *forms.LAST]))
        self.assertEqual(sorted(name for group in forms.groups() for name in group), sorted(forms.SAMPLED))

    def test_a_handful_of_consecutive_commits_runs_every_step(self):
        hashes = [f"{number // forms.GROUPS:040x}" for number in range(400)]
        chosen = [forms.group_of(number, block) for number, block in enumerate(hashes)]
        for start in range(len(chosen) - HANDFUL):
            self.assertEqual(set(chosen[start : start + HANDFUL]), set(range(forms.GROUPS)), start)

    def test_pushes_of_several_commits_meet_every_group(self):
        pushed = [forms.group_of(number, f"{number // forms.GROUPS:040x}") for number in range(0, 400, forms.GROUPS)]
        self.assertEqual(set(pushed), set(range(forms.GROUPS)))

    def test_the_sample_is_that_of_the_commit_and_bounded_in_time(self):
        sentence, steps = forms.short_form()
        self.assertEqual((sentence, steps), forms.short_form())
        for group in forms.groups():
            self.assertLess(forms.seconds_of(group), 60 * MINUTES_MAX, group)
        sampled = [name for name in steps if name in forms.SAMPLED]
        self.assertIn(sorted(sampled), [sorted(group) for group in forms.groups()])
        for name in sampled:
            self.assertIn(name, sentence)


if __name__ == "__main__":
    unittest.main()

"""Lets Optuna choose the points of a search: tune.py layouts.yaml TRIALS."""

import json
import subprocess
import sys

import optuna

file, trials = sys.argv[1], int(sys.argv[2])
eidolon = ["eidolon", "search", "-f", file]
search = json.loads(subprocess.check_output([*eidolon, "space"]))
session = subprocess.Popen([*eidolon, "ask", "--lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def objective(trial):
    point = {name: trial.suggest_categorical(name, values) for name, values in search["space"].items()}
    print(json.dumps(point), file=session.stdin, flush=True)
    answer = json.loads(session.stdout.readline())
    if answer["verdict"] != "predicted":  # It is cut, does not fit, is excluded, or failed.
        raise optuna.TrialPruned(answer["why"])
    return answer["objective"]["value"]


sampler = optuna.samplers.TPESampler(seed=1)
study = optuna.create_study(direction=search["objective"]["direction"], sampler=sampler)
study.optimize(objective, n_trials=trials)
print(study.best_value, json.dumps(study.best_params))

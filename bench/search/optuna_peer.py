"""Optuna as a peer of the race: one request a line on standard input, one answer a line on standard output.

{"open": {"sampler": "tpe" | "tpe-multivariate" | "gp", "seed": 1, "knobs": [KNOB, ...]}}  ->  {"ready": true}
{"ask": true}                                    ->  {"levels": [3, 7]}
{"tell": {"goal": 4.1, "excess": [0.02]}}        ->  {"told": true}

A KNOB is {"numbers": 9} or, without an order, {"names": 5}; both are told as levels from 0. The goal is to be small; an excess above 0 breaks a bound.
"""

import json
import sys
import warnings

import optuna

# From its default of ten: with forty trials, ten at random are a quarter of the race.
STARTUP_TRIALS = 5

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)


def excess_of(trial):
    return trial.user_attrs["excess"]


def sampler_of(name, seed):
    if name == "tpe":
        return optuna.samplers.TPESampler(seed=seed, constraints_func=excess_of)
    if name == "tpe-multivariate":
        return optuna.samplers.TPESampler(
            seed=seed, constraints_func=excess_of, multivariate=True, n_startup_trials=STARTUP_TRIALS
        )
    if name == "gp":
        import torch

        torch.set_num_threads(1)
        return optuna.samplers.GPSampler(
            seed=seed, constraints_func=excess_of, n_startup_trials=STARTUP_TRIALS, deterministic_objective=False
        )
    raise ValueError(f"there is no sampler '{name}'")


def levels_of(knob):
    if "names" in knob:
        return optuna.distributions.CategoricalDistribution(list(range(knob["names"])))
    return optuna.distributions.IntDistribution(0, knob["numbers"] - 1)


class Peer:
    def open(self, asked):
        sampler = sampler_of(asked["sampler"], asked["seed"])
        self.study = optuna.create_study(direction="minimize", sampler=sampler)
        self.spread = {f"knob{index}": levels_of(knob) for index, knob in enumerate(asked["knobs"])}
        return {"ready": True}

    def ask(self, _):
        self.trial = self.study.ask(self.spread)
        return {"levels": [self.trial.params[name] for name in self.spread]}

    def tell(self, told):
        self.trial.set_user_attr("excess", told["excess"])
        self.study.tell(self.trial, told["goal"])
        return {"told": True}


def main():
    peer = Peer()
    handlers = {"open": peer.open, "ask": peer.ask, "tell": peer.tell}
    for line in sys.stdin:
        [(name, argument)] = json.loads(line).items()
        print(json.dumps(handlers[name](argument)), flush=True)


main()

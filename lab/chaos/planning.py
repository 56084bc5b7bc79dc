# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The plan of a run: which actions, on what, with which parameters.

One ``random.Random(seed)`` decides everything.  The plan depends on the seed,
the profile and the permitted actions alone, never on times or on what the
cloud does, so the same run can be played again.
"""

import dataclasses
import random


@dataclasses.dataclass(frozen=True)
class Planned:
    """One action of the plan."""

    number: int  # from 1
    action: object
    target: str
    parameters: dict  # dict of name to value that JSON can write

    def __str__(self):
        chosen = ', '.join(f'{name} {value}' for name, value in
                           self.parameters.items())
        return f'{self.number:d} {self.action.name} {self.target}' + (
            f' ({chosen})' if chosen else '')


def permitted(actions: dict, profile, only=()) -> list:
    """The actions of a run.

    :raises ValueError: for a name that no action has, or none in the profile
    """
    unknown = set(only) - actions.keys()
    if unknown:
        raise ValueError('no such action: ' + ', '.join(sorted(unknown)))
    found = [one for name, one in actions.items()
             if name not in profile.without and one.targets(profile) and
             (not only or name in only)]
    if not found:
        raise ValueError(f'profile {profile.name} has none of these actions')
    return found


def plan(seed: int, profile, actions: list):
    """The endless plan: all actions in some order, then again in another.

    :returns: generator of :class:`Planned`
    """
    choose = random.Random(seed)
    number = 0
    while True:
        deck = list(actions)
        choose.shuffle(deck)
        for action in deck:
            number += 1
            target = choose.choice(action.targets(profile))
            parameters = {name: choose.choice(values)
                          for name, values in action.choices.items()}
            least, most = action.seconds
            if most:
                parameters['seconds'] = round(choose.uniform(least, most), 1)
            yield Planned(number, action, target, parameters)

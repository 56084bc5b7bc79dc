# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an action is: how it is planned, and how it is carried out."""

from collections import abc
import dataclasses
import typing

from lab import outages


@dataclasses.dataclass(frozen=True)
class Action:
    """One kind of action."""

    name: str
    what: str
    perform: typing.Callable  # function(step.Step) from the begin to the end
    on: str = 'node'  # 'node' for a gateway as target, 'router' for a router
    # Dict of parameter to tuple of its possible values
    choices: dict = dataclasses.field(default_factory=dict)
    seconds: tuple = (0.0, 0.0)  # least and most of the parameter 'seconds'

    def targets(self, profile):
        """Names of all possible targets in a profile, a tuple."""
        if self.on == 'router':
            return ('alpha', 'beta')[:profile.routers]
        return tuple(f'gw{n + 1:d}' for n in range(profile.gateways))


def outage(name, seconds, what=None, perform: abc.Callable | None = None):
    """An action that is an outage of :mod:`lab.outages`."""
    one = outages.OUTAGES[name]
    return Action(name, what or one.what,
                  perform or (lambda step: suffer(step, name)),
                  seconds=seconds)


def suffer(step, name):
    """Begin an outage, let its time pass, and end it in any case."""
    one = outages.OUTAGES[name]
    one.begin(step.cloud, step.target)
    try:
        step.hold()
    finally:
        one.end(step.cloud, step.target)

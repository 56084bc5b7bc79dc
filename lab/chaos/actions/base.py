# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an action is: how it is planned, and how it is carried out."""

import dataclasses
import typing

from lab import outages


@dataclasses.dataclass(frozen=True)
class Action:
    """One kind of action.

    :ivar name: short name
    :ivar what: what happens, for --list
    :ivar perform: function(step.Step) from the begin to the end
    :ivar on: 'node' for a gateway as target, 'router' for a router
    :ivar choices: dict of parameter to tuple of its possible values
    :ivar seconds: least and most of the parameter 'seconds'
    """

    name: str
    what: str
    perform: typing.Callable
    on: str = 'node'
    choices: dict = dataclasses.field(default_factory=dict)
    seconds: tuple = (0.0, 0.0)

    def targets(self, profile):
        """Names of all possible targets in a profile, a tuple."""
        if self.on == 'router':
            return ('alpha', 'beta')[:profile.routers]
        return tuple(f'gw{n + 1:d}' for n in range(profile.gateways))


def outage(name, seconds, what=None, perform=None):
    """An action that is an outage of :mod:`lab.outages`.

    :param seconds: least and most
    :param perform: function(step) around :func:`suffer`
    """
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

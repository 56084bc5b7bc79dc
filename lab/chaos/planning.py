# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The plan of a run: which actions, on what, with which parameters.

One ``random.Random(seed)`` decides everything.  The plan depends on the seed,
the profile and the permitted actions alone, never on times or on what the
cloud does, so the same run can be played again.
"""

import dataclasses
import random

from lab import routers
from lab.chaos import values


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


# Without a VRF there is no veth pair with its routes, rules and addresses.
# The announced route is the host route, and the change of the method loses
# packets, as the documentation says.
_NO_VRF = ('vrf', 'drift-link', 'drift-neighbour', 'drift-rule',
           'drift-pair-address', 'drift-leak-route', 'drift-announcement',
           'drift-sysctl', 'drift-storm', 'flip-method')
# The agents know nothing of OVN, of routers and of the provider bridge, and
# have no daemon for FRR.  They do not know of each other, either: when all of
# them restart without a pause, nobody has the VIPs.
_NO_OVN = ('databases-silent', 'control-loss', 'control-delay',
           'control-silence', 'daemon-ovs', 'drift-leak-route', 'drift-rule',
           'drift-sysctl', 'drift-flows', 'drift-storm', 'flip-method',
           'flip-drain', 'double-failover', 'router', 'ovsdb-silent',
           'descriptors', 'daemon-frr', 'rolling')

PROFILES = {one.name: one for one in (
    values.Profile('static', 'static routes of FRR, Gateway_Chassis rows'),
    values.Profile('kernel', 'kernel routes, HA_Chassis_Group rows, VIPs only '
                   'with a router', announce='with-gateway',
                   methods=('kernel', 'kernel'),
                   scheduler=routers.HA_CHASSIS_GROUP),
    values.Profile('default-vrf', 'BGP in the default VRF, kernel routes',
                   methods=('kernel', 'kernel'), vrf='', without=_NO_VRF),
    values.Profile('port-forward-only', 'VIPs, and no OVN for the agents',
                   routers=0, ovn=False, without=_NO_OVN),
    values.Profile('mixed', 'static routes on gw1, kernel routes on gw2',
                   methods=('static', 'kernel'), announce='with-gateway'),
    # Three nodes with all their programs share one processor: fewer probes.
    values.Profile('three-gateways', 'three gateways and one router',
                   gateways=3, methods=('kernel', 'kernel', 'kernel'),
                   scheduler=routers.HA_CHASSIS_GROUP, routers=1,
                   bfd=False, probe_interval=0.05, without=('bfdd',)),
)}

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A node and its groups of gateways, for the tests of the tables of states."""

import dataclasses
import functools
import itertools

from ovn_network_agent import model
from ovn_network_agent.gateways import departure
from ovn_network_agent.gateways import handover
from ovn_network_agent.gateways import transitions
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

HERE, OTHER, THIRD = cloud.CHASSIS, cloud.OTHER, 'third'
DRIVERS = ['fip_route', 'veth_leak', 'gateway_drain']
State, Situation = model.GatewayState, transitions.Situation
Tenure, Place, Order = model.Tenure, transitions.Place, transitions.Order
RUNNING, DRAINING = model.Phase.RUNNING, model.Phase.DRAINING
ALL = frozenset({model.ALL})
ADDRESSES = {HERE: '192.0.2.1', OTHER: '192.0.2.2', THIRD: '192.0.2.3'}
PORTS = {OTHER: 9, THIRD: 11}
# Seconds: an overlap holds back no longer, and a relay that is silent does.
LATER = (departure.TAKE + departure.PATIENCE) / 2


def possible(table):
    """Pairs of a table that can occur, a list."""
    return [pair for pair in table.rows if pair not in table.impossible]


@functools.cache
def conf(**options):
    """Options with those of the group ``gateway_drain``."""
    return world.conf(drivers=DRIVERS, **{
        'gateway_drain__' + name: value for name, value in options.items()})


def candidate(name, priority, mark=''):
    return model.Candidate(name, priority, True, ADDRESSES[name], 'geneve',
                           mark, 3 if mark else 0)


def group(number, owner, candidates, facts=()):
    return model.GatewayGroup(
        'Gateway_Chassis', f'key-{number:d}', f'lrp-{number:d}',
        tuple(sorted(candidates, key=lambda c: c.chassis)),
        (model.GroupPort(f'cr-lrp-{number:d}', owner, f'lrp-{number:d}'),),
        (cloud.router(number).uuid,), frozenset(facts))


class Node:
    """This node as far as its groups go, with the real classes.

    The first group is the one that is looked at.  The second one is here
    and has another next owner; its silent relay keeps an overlap from
    beginning, and from being given up.
    """

    def __init__(self, **options):
        self.conf = conf(**options)
        self.now = 1000.0
        self.handovers = handover.Handovers(self.conf, lambda: self.now)
        self.driver = world.driver('gateway_drain', self.conf)
        self.known = None

    def look(self, one, phase=RUNNING, drains=frozenset(), alive=(OTHER,),
             anew=False, fips=()):
        """One view; the first group after it is in ``group``.

        :param one: the group without a state, its owner at its only port
        :param alive: names of the chassis whose relays answer
        :param anew: compute the states although they are settled
        :param fips: floating IPs of the routers
        """
        second = group(2, HERE, (candidate(HERE, 5), candidate(THIRD, 1)),
                       one.facts)
        view = dataclasses.replace(cloud.snapshot(*(
            cloud.router(number, fips, ports=(cloud.port(
                number, chassis=owner, local=owner == HERE),))
            for number, owner in ((1, one.ports[0].chassis), (2, HERE))),
            phase=phase, drains=drains, relays=tuple(
                model.Relay('br-ex', ADDRESSES[name], PORTS[name],
                            name in alive) for name in PORTS)),
            groups=(one, second))
        # As ovn.view.View, without the health of others.
        known = (view.node, view.routers, view.groups,
                 [relay.alive for relay in view.node.relays])
        if anew or not self.handovers.settled or known != self.known:
            self.known = known
            seen = self.handovers.update(view)
        else:
            seen = dataclasses.replace(view, groups=self.seen.groups)
        self.seen = seen
        self.group, self.node = seen.groups[0], seen.node
        self.port = seen.routers[0].ports[0]
        return self.group

    def wanted(self):
        """What is wanted of the candidates, by chassis."""
        return {r.chassis: r for r in self.driver.resources(
            self.group, self.node) if r.kind == 'gateway_priority'}


class Places:
    """Brings about each situation of :class:`transitions.Situation`.

    :ivar of: function that plays a situation on a :class:`Node`
    """

    def __init__(self, node, final):
        """``final``: whether a stop has begun, which is never undone."""
        self.node = node
        self.phase = DRAINING if final else RUNNING
        self.facts = ()
        self.number = itertools.count(10)

    def play(self, wanted):
        {Situation.ALONE: lambda: self.look(others=()),
         Situation.OVERLAP: lambda: self.look(
             drains=ALL, alive=(OTHER, THIRD)),
         Situation.HOLD: lambda: self.look(drains=ALL, alive=()),
         Situation.AT_ZERO: lambda: self.look(
             0, 'shutdown', owner=OTHER, drains=ALL),
         Situation.TAKER: lambda: self.look(drains=ALL),
         Situation.HEIR: self._abandoned,
         Situation.NO_TAKER: lambda: self.look(
             drains=ALL, others=(candidate(OTHER, 0),)),
         Situation.STOP: lambda: self.look(phase=DRAINING),
         Situation.MOVE: lambda: self.look(
             others=(candidate(OTHER, next(self.number)),)),
         Situation.UNFIT_OWNER: lambda: self.look(
             0, 'unfit', others=(candidate(OTHER, 0),),
             facts=(model.Fact.UNFIT,)),
         Situation.OWNER: lambda: self.look(others=(candidate(OTHER, 5),)),
         Situation.RANKED: lambda: self.look(1, 'shutdown', OTHER),
         Situation.LOWERED_BY_AGENT: lambda: self.look(0, 'shutdown', OTHER),
         Situation.LOWERED_BY_OTHERS: lambda: self.look(0, owner=OTHER),
         }[wanted]()

    def _abandoned(self):
        self.phase, self.facts = DRAINING, (model.Fact.ABANDONED,)
        self.look(drains=ALL, others=(candidate(OTHER, 0, 'shutdown'),))

    def look(self, own=5, mark='', owner=HERE, others=None, facts=(),
             phase=None, **view):
        self.node.look(group(
            1, owner, (candidate(HERE, own, mark), *(
                (candidate(OTHER, 2 if own < 2 else 1),)
                if others is None else others)),
            {*facts, *self.facts}), phase or self.phase, **view)

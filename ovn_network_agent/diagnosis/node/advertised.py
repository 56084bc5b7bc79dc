# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The table Advertised_Route, if the agent announces by it."""

import typing

from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import policies


class Advertised(typing.NamedTuple):
    """The routes that OVN advertises for the routers that it routes.

    :ivar wanted: whether [announce] advertised_routes is on
    :ivar there: whether SB has the table
    :ivar routers: number of routers with dynamic-routing=true
    :ivar routes: number of rows of the table
    """

    wanted: bool
    there: bool = False
    routers: int = 0
    routes: int = 0


def read_advertised(sources):
    """Count what OVN advertises.

    :param sources: :class:`sources.Sources`
    :returns: :class:`Advertised`
    :raises ovsdb.connection.Unavailable: without NB or SB
    """
    if not sources.conf.announce.advertised_routes:
        return Advertised(False)
    with sources.database('nb').rows() as nb:
        routers = sum(map(policies.is_routed,
                          nb.get('Logical_Router', {}).values()))
    with sources.database('sb').rows() as sb:
        return Advertised(True, events.ADVERTISED in sb, routers,
                          len(sb.get(events.ADVERTISED, ())))


def judge_advertised(found):
    """An option without effect is a warning, as are routers without routes.

    :param found: :class:`Advertised`
    :returns: iterator of :class:`check.Said`
    """
    if not found.wanted:
        yield check.ok('[announce] advertised_routes is off')
    elif not found.there:
        yield check.warn(
            '[announce] advertised_routes has no effect, because OVN SB has '
            'no table Advertised_Route',
            'upgrade OVN to 25.03 or later, or set the option to false')
    elif found.routers and not found.routes:
        yield check.warn(
            f'OVN advertises nothing for {found.routers:d} routers with '
            'dynamic-routing=true', 'set '
            'options:dynamic-routing-redistribute=nat, or another value, in '
            'the rows of the routers or of their ports; if it is set, see '
            'that ovn-northd runs')
    else:
        yield check.ok(f'OVN advertises {found.routes:d} routes for '
                       f'{found.routers:d} routers')


CHECKS = (
    check.Check(
        'advertised-routes', 'OVN', 'with [announce] advertised_routes: SB '
        'has the table Advertised_Route, and routes for the routers that OVN '
        'routes', read_advertised, judge_advertised,
        ('nb-database', 'sb-database')),
)

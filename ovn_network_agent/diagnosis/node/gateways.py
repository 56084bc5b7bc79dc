# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the gateway groups and gateway ports of this chassis."""

from collections.abc import Collection
from collections.abc import Iterator
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import bridges
from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import segments
from ovn_network_agent.watches import node_conflicts

# The most names that one line has.
_NAMED = 5
_WORDS = {
    'own zero': (
        check.Verdict.BROKEN, 'this chassis has priority 0, and no reason is '
        'noted', 'the agent restores it at its start; without an agent set '
        'the priority of its row to 1'),
    'zero': (
        check.Verdict.WARN, 'another candidate has priority 0, and no reason '
        'is noted', 'start or restart the agent there, which restores it'),
    'sole': (
        check.Verdict.WARN, 'no other chassis can take over',
        'have Neutron schedule the gateway on more chassis, and look whether '
        'the other gateway nodes run'),
    'unbound': (
        check.Verdict.WARN, 'no chassis has the gateway port',
        'is ovn-controller running on the candidates, and do their tunnels '
        'work? "ovn-sbctl find Port_Binding type=chassisredirect"'),
    'tie': (
        check.Verdict.WARN, 'candidates share the highest priority, and '
        'their names decide', 'the agent of the owner takes the lead; is it '
        'running?'),
    'outranked': (
        check.Verdict.WARN, 'the chassis with the port has not the highest '
        'priority', 'wait some seconds, and look again: OVN may be moving '
        'the port; else look at ovn-controller of the first candidate'),
}


class Groups(typing.NamedTuple):
    """The gateway groups of this chassis."""

    chassis: str
    groups: tuple[model.GatewayGroup, ...]
    drains: bool  # whether the driver gateway_drain works


def read_groups(sources: sources.Sources) -> Groups:
    """Take the gateway groups from the view."""
    snapshot = sources.snapshot()
    return Groups(snapshot.node.chassis, snapshot.groups,
                  'gateway_drain' in sources.conf.drivers)


def judge_priorities(found: Groups) -> Iterator[check.Result]:
    """The order of the candidates, by kind of fault and with some names."""
    if not found.groups:
        yield check.ok('this chassis is no candidate of any gateway group')
        return
    faults: dict[str, list[str]] = {}
    for group in found.groups:
        for kind in _faults(group, found.chassis, found.drains):
            faults.setdefault(kind, []).append(group.name)
    for kind, names in faults.items():
        verdict, evidence, remedy = _WORDS[kind]
        yield check.Result(
            verdict, f'{wording.first(names, _NAMED)}: {evidence}', remedy)
    if not faults:
        yield check.ok(wording.count(len(found.groups), 'group'))


def _faults(group: model.GatewayGroup, chassis: str, drains: bool
            ) -> Iterator[str]:
    """The faults of one group, words of :data:`_WORDS`."""
    own = group.candidate(chassis)
    others = [c for c in group.candidates if c.chassis != chassis]
    if own is not None and not own.priority and not own.drained:
        yield 'own zero'
    if any(not c.priority and not c.drained for c in others):
        yield 'zero'
    if not any(c.known for c in others):
        yield 'sole'
    highest = max(c.priority for c in group.candidates)
    first = [c for c in group.candidates if c.priority == highest]
    owners = {port.chassis for port in group.ports}
    if '' in owners:
        yield 'unbound'
    if highest and len(first) > 1 and drains:
        yield 'tie'
    elif owners - {'', *(c.chassis for c in first)}:
        yield 'outranked'


class Ports(typing.NamedTuple):
    """The gateway ports on this chassis."""

    ports: tuple[model.GroupPort, ...]
    bridges: tuple[str, ...] = ('br-ex',)


def read_ports(sources: sources.Sources) -> Ports:
    """Take the gateway ports on this chassis from the view."""
    snapshot = sources.snapshot()
    return Ports(tuple(port for group in snapshot.groups
                       for port in group.ports
                       if port.chassis == snapshot.node.chassis),
                 bridges.served(sources.conf))


def judge_ports(found: Ports) -> Iterator[check.Result]:
    """A port whose segment has no bridge or patch port is broken.

    A port without a localnet port is a warning.
    """
    wrong = False
    for port in found.ports:
        segment = port.segment
        if segment is None:
            wrong = True
            yield check.warn(
                f'{port.lrp}: the localnet port of its provider network is '
                'not found', 'the network has to be a flat or VLAN network '
                'of a physical network')
        elif not segment.bridge:
            wrong = True
            yield check.broken(
                f'{port.lrp}: the physical network '
                f'{segment.physical_network} is not in ovn-bridge-mappings',
                'add it there, with the bridge of bridge_dev or one of '
                'further_bridges')
        elif not segment.patch_port:
            wrong = True
            yield check.broken(
                f'{port.lrp}: ovn-controller has made no patch port on '
                f'{segment.bridge}', 'look into the log of ovn-controller: '
                'is br-int there, and is the bridge one of Open vSwitch?')
        elif why := segments.objection(segment, found.bridges):
            wrong = True
            yield check.broken(
                f'{port.lrp}: {why}', 'ovn-bridge-mappings, [DEFAULT] '
                'bridge_dev and further_bridges have to name one bridge for '
                'the network; a device in the way has to go')
    if not wrong:
        yield check.ok(wording.count(len(found.ports), 'gateway port is',
                                     'gateway ports are') + ' here')


class Routes(typing.NamedTuple):
    """The routers on this chassis, and their routes in OVN."""

    managed: bool  # whether an agent runs, which writes the routes
    marks: frozenset[ownership.Owner]
    routers: tuple[model.Router, ...]  # with a gateway port here
    problems: tuple[str, ...]  # rows that are malformed
    # With a distributed floating IP here.
    hosted: tuple[model.Router, ...] = ()


def read_routes(sources: sources.Sources) -> Routes:
    """Take the routers on this chassis from the view."""
    snapshot = sources.snapshot()
    here = tuple(router for router in snapshot.routers if router.local_ports)
    return Routes(bool(sources.holder()), snapshot.node.marks, here, (
        *snapshot.problems,
        *(text for router in here for text in router.problems)), tuple(
            router for router in snapshot.routers if router.hosting_ports))


def judge_routes(found: Routes) -> Iterator[check.Result]:
    """A router without a default route of this node is broken.

    Malformed rows are warnings, as are routers without an agent to serve them.
    """
    for text in found.problems:
        yield check.warn(text, 'correct the row, or remove it')
    if not found.managed:
        yield from _unserved({router.called for router in (
            *found.routers, *found.hosted)})
        return
    without = [router.called for router in found.routers
               if not router.default_routes]
    foreign = [router.called for router in found.routers
               if any(route.managed and route.owner not in found.marks
                      for route in router.default_routes)]
    for names, what in (
            (without, 'no default route in OVN'),
            (foreign, 'the default route in OVN has the mark of another '
             'node')):
        if names:
            yield check.broken(
                f'{", ".join(names[:_NAMED])}: {what}', 'look into the log '
                'of the agent: may it write to the Northbound database?')
    if not (without or foreign or found.problems):
        yield check.ok(wording.count(len(found.routers), 'router is',
                                     'routers are') + ' here')


def _unserved(names: Collection[str]) -> Iterator[check.Result]:
    if not names:
        yield check.not_checked('no agent runs, which would write them')
        return
    yield check.warn(
        f'{wording.first(sorted(names), _NAMED)}: here with gateway ports or '
        'distributed floating IPs, and no agent runs, so that no change in '
        'OVN is followed',
        '"systemctl enable --now ovn-network-agent"; if it has ended, '
        '"journalctl -u ovn-network-agent" says why')


class Ipv6(typing.NamedTuple):
    """What the provider networks of IPv6 need of the node."""

    # Names of routers and networks here with announced addresses of IPv6.
    owners: tuple[str, ...]
    forwards: bool  # whether the node forwards IPv6


def read_ipv6(sources: sources.Sources) -> Ipv6:
    """Take the routers and networks with IPv6 from the view."""
    snapshot = sources.snapshot()
    places: list[tuple[str, announcing.Place]] = [
        *((router.called, port) for router in snapshot.routers
          for port in router.local_ports),
        *((network.called, network)
          for network in snapshot.networks.values())]
    return Ipv6(tuple(dict.fromkeys(
        called for called, place in places
        if any(net.version == 6 for net in announcing.provider_networks(
            sources.conf, place)))), node_conflicts.forwards_ipv6())


def judge_ipv6(found: Ipv6) -> Iterator[check.Result]:
    """A node that announces addresses of IPv6 has to forward their packets."""
    if found.owners and not found.forwards:
        yield check.broken(
            f'{", ".join(found.owners[:_NAMED])}: has addresses of IPv6, and '
            'this node does not forward IPv6', 'set '
            'net.ipv6.conf.all.forwarding = 1, and before it accept_ra = 2 '
            'for devices that take routes from router advertisements')
        return
    yield check.ok(wording.count(
        len(found.owners), 'router or network of machines',
        'routers and networks of machines') + ' here with IPv6')


CHECKS = (
    check.Check(
        'gateway-priorities', 'OVN', 'in the groups of this chassis: the '
        'owner is strictly first, nobody is at 0 without a reason, and '
        'another chassis can take over', read_groups, judge_priorities,
        check.VIEW),
    check.Check(
        'patch-ports', 'OVN', 'the provider networks of the gateway ports '
        'here have a bridge and a patch port', read_ports, judge_ports,
        (*check.VIEW, 'bridge-mappings')),
    check.Check(
        'northbound-routes', 'OVN', 'an agent runs if routers are here, and '
        'these have a default route with the mark of this node', read_routes,
        judge_routes, check.VIEW),
    check.Check(
        'ipv6-routers', 'OVN', 'with provider networks of IPv6: the node '
        'forwards IPv6', read_ipv6, judge_ipv6, check.VIEW),
)

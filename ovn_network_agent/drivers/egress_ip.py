# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver egress_ip: machines leave the cloud with an address that stays.

All agents with the driver want the same rows in OVN NB; the backend lets one
of them write.
"""

import collections
from collections.abc import Iterator

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.common import notices
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import egress_ip as options
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import egress_host
from ovn_network_agent.resources import northbound as rows

_Places = list[model.EgressPlace]


def wanted(subject: model.EgressIp, node: model.Node, cleanup: bool,
           priority: int) -> base.Wanted:
    """The rows of all routers with machines of one egress address.

    :param cleanup: [egress_ip] cleanup_on_stop; priority is policy_priority
    """
    for why in filter(None, (subject.why, *subject.problems)):
        yield resources.Problem(f'egress address {subject.name}: {why}')
    by_router = collections.defaultdict(list)
    for place in subject.places:
        if place.why:
            yield resources.Problem(
                f'egress address {subject.name}: {_called(place)} has '
                f'none of IPv{place.family:d}: {place.why}',
                router=place.router)
        if place.address:
            by_router[place.router].append(place)
    for router, places in by_router.items():
        wanted = _rows(subject, router, places, priority)
        # What this node translates ends with its agent.
        if (node.phase is model.Phase.STOPPED and
                not cleanup and
                all(place.chassis != node.chassis for place in places)):
            yield resources.Keep(wanted.ref, foreign=True)
        else:
            yield wanted


def _rows(subject: model.EgressIp, router: str, places: _Places,
          priority: int) -> rows.EgressRows:
    machines: dict[int, list[str]] = {4: [], 6: []}
    for machine in subject.machines:
        if machine.router == router and not machine.why:
            machines[networks.family(machine.address)].append(
                machine.address)
    families = sorted({place.family for place in places})
    sets = {_set_name(subject.name, router, family, 'to'): tuple(sorted(
        each for each in subject.destinations
        if networks.family_of_valid(each) == family))
        for family in families} if subject.destinations else {}
    ecmp = subject.mode is model.EgressMode.ECMP
    if ecmp:
        sets.update((_set_name(subject.name, router, family, 'from'),
                     tuple(sorted(machines[family])))
                    for family in families)
    return resources.EgressRows(
        subject.name, router,
        tuple(sorted(_nat(subject, place, machine) for place in places
                     for machine in machines[place.family])),
        tuple(sorted(policy for family in families for policy in _policies(
            subject, router, priority, [
                place for place in places if place.family == family]))
              ) if ecmp else (),
        tuple(sorted(sets.items())))


def _policies(subject: model.EgressIp, router: str, priority: int,
              places: _Places) -> Iterator[rows.EgressPolicy]:
    """Lead machines to the gateway ports, if they leave the router.

    OVN makes each combination of prefixes of different length a flow for a
    match that excludes them, so another policy lets them pass.
    """
    family = places[0].family
    source, to = (f'ip{family}.{side} == $'
                  f'{_set_name(subject.name, router, family, name)}'
                  for side, name in (('src', 'from'), ('dst', 'to')))
    inside = ', '.join(places[0].inside)
    if inside:
        yield resources.EgressPolicy(
            priority, f'{source} && ip{family}.dst == {{{inside}}}')
    yield resources.EgressPolicy(
        priority - 1, f'{source} && {to}' if subject.destinations else source,
        tuple(sorted({place.nexthop for place in places})))


def _nat(subject: model.EgressIp, place: model.EgressPlace,
         machine: str) -> rows.EgressNat:
    if place.chassis:
        return resources.EgressNat(machine, machine, address=place.address,
                                   chassis=place.chassis)
    return resources.EgressNat(
        machine, place.address, place.port,
        _set_name(subject.name, place.router, place.family, 'to')
        if subject.destinations else '')


def _called(place: model.EgressPlace) -> str:
    return f'router {place.called}' + f' ({place.port})' * bool(place.port)


def _set_name(name: str, router: str, family: int, what: str) -> str:
    return 'ona_egress_{}_{}_{}_ip{:d}'.format(
        name.replace('-', '_'), router.replace('-', '_'), what, family)


# What the view of the agent does not have.
_READ = (
    ('Logical_Switch', ('ports',)),
    ('Logical_Switch_Port', ('name', 'type', 'addresses', 'dynamic_addresses',
                             'options', 'external_ids')),
    ('Port_Group', ('name', 'ports', 'external_ids')),
    ('DHCP_Options', ('cidr', 'external_ids')),
    ('Logical_Router', ('policies',)))
_WRITTEN = {table: tuple(column for column in (*columns, 'external_ids')
                         if not column.startswith('ovn-network-agent'))
            for table, columns in rows.EGRESS_COLUMNS.items()}


class EgressIpDriver(base.Driver):
    """Wants the rows of egress addresses, and what this node translates."""

    CONFIG_OPTS = options.OPTS
    OTHER_OPTIONS = egress_host.OPTIONS
    SUBJECTS = (model.Node, model.Router, model.GatewayGroup, model.EgressIp,
                model.EgressHost)
    ASKS = (plugins.STATIC_ROUTES, plugins.LINKS, plugins.ABSENCE)

    def events(self) -> tuple[base.Watch, ...]:
        """The columns of NB that machines are found by, and those of rows."""
        return (*(base.Watch('nb', table, columns)
                  for table, columns in _READ),
                *(base.Watch('nb', table, columns, stale=(notices.EGRESS,))
                  for table, columns in _WRITTEN.items()))

    def resources(self, subject: (
            model.Node | model.Router | model.GatewayGroup | model.EgressIp |
            model.EgressHost), node: model.Node) -> base.Wanted:
        """The rows of one egress address, or what one subject needs here."""
        match subject:
            case model.EgressIp():
                chosen = self.settings.egress_ip
                return wanted(
                    subject, node, chosen.cleanup_on_stop,
                    chosen.policy_priority)
            case model.Node():
                return egress_host.of_node(node)
            case model.Router():
                return egress_host.of_gateway(
                    self.settings, subject.served_ports, subject.tenants)
            case model.GatewayGroup():
                return (drop for port in subject.ports
                        for drop in egress_host.of_gateway(
                            self.settings, (port,), port.tenants))
        return egress_host.of_machine(self.settings, subject, node)

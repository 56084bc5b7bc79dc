# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""All gateways of the cloud, from the rows that OVN has on any node."""

import collections
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import time
import typing
from typing import Any

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import ovsdb
from ovn_network_agent import ownership
from ovn_network_agent.common import wording
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.chassis import absent_chassis
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovn.subjects import policies
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import query

UP, SILENT, ABSENT, UNKNOWN = 'up', 'silent', 'gone', 'unknown'
ANNOUNCED, UNPROVEN, UNBOUND = 'announced', 'not announced', 'no owner'
_GATEWAY_WORD = 'enable-chassis-as-gw'
# Seconds: a chassis that lags behind the others for less may answer yet.
_SILENCE = 10.0


class Gateway(typing.NamedTuple):
    """A chassis that has a gateway port, or may have one."""

    chassis: str
    hostname: str  # unique among the gateways
    state: str
    seen: int = 0  # its last report (ms since the epoch), 0 without one
    serves: int = 0  # gateway ports
    takes_over: int = 0  # gateway ports, as the next owner
    # How many of its priorities are 0, by the reason of an agent.
    drained: tuple[tuple[str, int], ...] = ()


class Candidate(typing.NamedTuple):
    """A chassis that may have one gateway port."""

    chassis: str
    hostname: str
    priority: int
    drained: str = ''  # as model.Candidate has it
    earlier: int = 0


class Port(typing.NamedTuple):
    """A gateway port of a router."""

    router: str  # its name for people
    uuid: str  # UUID of the router's row, '' when OVN NB could not be asked
    port: str  # name of the Logical_Router_Port
    addresses: tuple[str, ...]
    state: str
    owner: str  # host name, '' without one
    next_owner: str  # host name of the chassis that would take over, or ''
    tag: int | None = None  # see ownership.TAGS; None without one
    candidates: tuple[Candidate, ...] = ()  # the preferred one first


class Fleet(typing.NamedTuple):
    """The gateways, the gateway ports, and what could not be asked."""

    gateways: tuple[Gateway, ...]
    ports: tuple[Port, ...]
    problems: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """The values for programs."""
        return {
            'gateways': [{**gateway._asdict(),
                          'drained': dict(gateway.drained)}
                         for gateway in self.gateways],
            'ports': [{**port._asdict(), 'candidates': [
                each._asdict() for each in port.candidates]}
                      for port in self.ports],
            'problems': list(self.problems)}


def read(conf: cfg.ConfigOpts, timeout: float) -> Fleet:
    """Ask both databases; what one of them lacks is unknown.

    :param timeout: seconds for each database
    """
    found: dict[str, columns.Tables] = {}
    problems = []
    for name, remotes, select in (
            ('nb', conf.ovn.ovn_nb_remote, _select_nb),
            ('sb', conf.ovn.ovn_sb_remote, _select_sb)):
        try:
            with query.Session(remotes, ovsdb.SCHEMAS[name],
                               timeout) as session:
                select(session)
                found[name] = session.tables
        except (query.Failed, OSError) as error:
            problems.append(f'OVN {name.upper()} could not be asked: '
                            f'{wording.error(error)}')
    return make(found.get('nb'), found.get('sb'), tuple(problems),
                conf.gateway_drain.silent_chassis_limit or _SILENCE,
                time.time())


def _select_nb(session: query.Session) -> None:
    bound = [('Logical_Router_Port', [column, '!=', ['set', []]])
             for column in ('gateway_chassis', 'ha_chassis_group')]
    session.select(('Gateway_Chassis',), ('HA_Chassis_Group',),
                   ('HA_Chassis',), *bound, (
                       'Logical_Router_Static_Route',
                       ['external_ids', 'includes', ['map', [[
                           ownership.EXT_ID_MANAGED,
                           ownership.EXT_ID_MANAGED_VALUE]]]]))
    session.select(('Logical_Router',), columns=(
        'name', 'ports', 'static_routes', 'external_ids', 'options'))


def _select_sb(session: query.Session) -> None:
    session.select(('Chassis',), ('SB_Global',), *(
        [('Chassis_Private',)] if session.has('Chassis_Private') else []))
    session.select(('Port_Binding', ['type', '==', 'chassisredirect']),
                   columns=('logical_port', 'chassis', 'type'))


def make(nb: columns.Tables | None, sb: columns.Tables | None,
         problems: tuple[str, ...], limit: float, now: float) -> Fleet:
    """The fleet of these rows, None for a database without an answer.

    :param limit: seconds after which a chassis that lags is silent
    :param now: seconds since the epoch
    """
    names = {} if sb is None else directory.hostnames(sb)
    owners = {} if sb is None else {
        str(columns.atom(row, 'logical_port')).removeprefix(model.REDIRECT):
        rows.chassis_name(row) for row in sb['Port_Binding'].values()}
    states, seen = _states(sb, limit, now)
    ports = [*_ports(nb, owners if sb is not None else None, names, states)]
    known = {*_chosen(sb), *filter(None, owners.values()), *(
        each.chassis for port in ports for each in port.candidates)}
    lost = UNKNOWN if sb is None else ABSENT
    gateways = (_gateway(name, _host(names, name), states.get(name, lost),
                         seen.get(name, 0), ports) for name in known)
    return Fleet(tuple(sorted(gateways, key=lambda each: each.hostname)),
                 tuple(sorted(ports, key=lambda each: (
                     each.router, each.port))), problems)


def _chosen(sb: columns.Tables | None) -> Iterator[str]:
    """The chassis on which Neutron schedules gateways."""
    for row in sb['Chassis'].values() if sb else ():
        words = (columns.entry(row, 'other_config', 'ovn-cms-options') or
                 columns.entry(row, 'external_ids', 'ovn-cms-options') or '')
        if _GATEWAY_WORD in words.split(','):
            yield row.name


def _states(sb: columns.Tables | None, limit: float, now: float
            ) -> tuple[dict[str, str], dict[str, int]]:
    """By chassis of SB: its state, and its last report."""
    if sb is None:
        return {}, {}
    states = {row.name: UP for row in sb['Chassis'].values()}
    facts = absent_chassis.read(sb, '', ())
    reports = {name: report for name, report in facts.reports.items()
               if name in states} if facts else {}
    if facts and reports:
        # The chassis that has answered last witnesses what was asked.
        own = max(reports, key=lambda name: reports[name])
        number, when = reports[own]
        facts = dataclasses.replace(facts, own=own)
        if now - when / 1000 < _SILENCE:
            # Whoever lacks the last number may be about to write it.
            facts = dataclasses.replace(facts, target=number - 1)
        states.update((name, SILENT) for name
                      in absent_chassis.outdated(facts, limit))
    return states, {name: when for name, (_number, when) in reports.items()}


def _ports(nb: columns.Tables | None, owners: Mapping[str, str] | None,
           names: Mapping[str, str], states: Mapping[str, str]
           ) -> Iterator[Port]:
    if nb is None:
        for name, chassis in (owners or {}).items():
            yield Port(_line(name), '', _line(name), (), UNKNOWN,
                       _host(names, chassis), '')
        return
    for router in nb['Logical_Router'].values():
        for port in columns.rows(router, 'ports'):
            candidates = tuple(_candidates(port, names))
            owner = owners.get(port.name, '') if owners is not None else ''
            state = (UNKNOWN if owners is None else
                     _state(router, owner, names) if owner else UNBOUND)
            yield Port(
                _line(directory.neutron_name(router) or router.name or
                      str(router.uuid)), str(router.uuid), _line(port.name),
                tuple(_line(each).partition('/')[0] for each
                      in sorted(columns.atoms(port, 'networks'))), state,
                _host(names, owner), next(
                    (each.hostname for each in candidates
                     if each.chassis != owner and each.priority and
                     states.get(each.chassis, UNKNOWN) in (UP, UNKNOWN)), ''),
                next((tag.number for policy in policies.read(
                    policies.ROUTER, router) for tag in policy.tags), None),
                candidates)


def _line(text: str) -> str:
    return wording.one_line(text)


def _host(names: Mapping[str, str], chassis: str) -> str:
    return names.get(chassis) or _line(chassis)


def _candidates(port: columns.Row, names: Mapping[str, str]
                ) -> Iterator[Candidate]:
    members = [*columns.rows(port, 'gateway_chassis'), *(
        member for group in columns.rows(port, 'ha_chassis_group')
        for member in columns.rows(group, 'ha_chassis'))]
    # OVN's order: of equal priorities, the last name wins.
    for row in sorted(members, reverse=True, key=lambda each: (
            each.priority, each.chassis_name)):
        yield Candidate(row.chassis_name, _host(names, row.chassis_name),
                        row.priority, *rows.lowered(row))


def _state(router: columns.Row, owner: str, names: Mapping[str, str]) -> str:
    """Whether the owner of a gateway port has the proof of announcing."""
    for row in columns.rows(router, 'static_routes'):
        marks = columns.entries(row, 'external_ids')
        of = ownership.owner(marks)
        if (owner == of.chassis or not of.chassis and
                of.hostname == names.get(owner)) and (
                    marks.get(ownership.EXT_ID_ADVERTISED) == of.hostname):
            return ANNOUNCED
    return UNPROVEN


def _gateway(name: str, hostname: str, state: str, seen: int,
             ports: list[Port]) -> Gateway:
    drained = collections.Counter(
        each.drained for port in ports for each in port.candidates
        if each.chassis == name and each.drained)
    return Gateway(
        name, hostname, state, seen,
        sum(1 for port in ports if port.owner == hostname),
        sum(1 for port in ports if port.next_owner == hostname),
        tuple(sorted(drained.items())))

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The subjects of sources of drivers: made of rows, peerings, and VIPs."""

import collections
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import typing

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.drivers import base
from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import node_addresses
from ovn_network_agent.forward import rules
from ovn_network_agent.model import port_forwards
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import sources
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.ovn.writes import marked_rows
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.runtime import rows_files


def read(conf: cfg.ConfigOpts, drivers: Sequence[base.Driver]
         ) -> tuple[list[tuple[str, typing.Any]], tuple[str, ...],
                    dict[str, columns.Tables]]:
    """Make all subjects of the sources of some drivers.

    Columns and conditions are those of the replica of an agent, so a source
    finds the same.

    :returns: subjects by kind and name; those that could not be made, and why;
        the rows by database and table
    :raises readers.Unread: also for a file of an operator
    """
    made = sources.of_drivers(drivers)
    wanted: collections.defaultdict[tuple[str, str], set[str]] = (
        collections.defaultdict(set))
    places = {place for source in made for place in source.INDEXES}
    for watch in events.of_view(conf):
        wanted[watch.database, watch.table].update(watch.columns)
    for watch in (each for driver in drivers for each in driver.events()):
        wanted[watch.database, watch.table].update(watch.columns)
        # A row may refer to a row of a table without an index.
        places.add((watch.database, watch.table))
    rows = {name: _rows(conf, name, {
        table: wanted[name, table] for database, table in sorted(places)
        if database == name}) for name in ('nb', 'sb')}
    try:
        kept = sources.Sources(made, rows_files.of_drivers(conf, drivers))
    except file_problems.BadFile as error:
        raise readers.Unread(str(error)) from error
    found = kept.update(rows, {}, True)
    return [(name, subject) for of_kind in found.values()
            for name, alone in sorted(of_kind.items())
            for subject in alone.values()], kept.problems, rows


def _rows(conf: cfg.ConfigOpts, database: str,
          tables: Mapping[str, Iterable[str]]) -> columns.Tables:
    """The rows of some tables, see :attr:`query.Session.tables`."""
    if not tables:
        return {}
    chosen = {table: clauses for name, table, clauses
              in events.conditions(conf) if name == database}
    with readers.Session(conf, database) as session:
        for table, columns in tables.items():
            if session.has(table):
                session.select(
                    *((table, each) for each in chosen.get(table, ())),
                    *(() if table in chosen else ((table,),)),
                    columns=[each for each in sorted(columns)
                             if session.has(table, each)])
        return session.tables


class Way(typing.NamedTuple):
    """One intent to peer that concerns an address."""

    peering: model.Peering
    wanted: resources.Peering | None = None  # None unless it is created
    missing: tuple[marked_rows.Values, ...] = ()  # that no row has
    # Likewise of the rows that are not wanted.
    others: tuple[marked_rows.Values, ...] = ()
    # Foreign policies of the other router; any text may be their action.
    foreign: tuple[resources.PeerPolicy, ...] = ()
    # Likewise those of this router, of any priority, that reroute or drop.
    detours: tuple[resources.PeerPolicy, ...] = ()

    @property
    def entry(self) -> resources.PeerSide:
        """The other router."""
        sides = self.wanted.sides if self.wanted else ()
        return next(side for side in sides
                    if side.router != self.peering.router)


def read_peerings(conf: cfg.ConfigOpts, drivers: Sequence[base.Driver],
                  address: str, node: model.Node) -> tuple[Way, ...]:
    """Ways to an address behind a peer, and intents to give it to a peer."""
    askers = [each for each in drivers if model.Peering in each.SUBJECTS]
    if not askers:
        return ()
    made, _unmade, rows = read(conf, askers)
    there = peering_rows.found(rows['nb'])
    return tuple(_way(askers[0], each, node, rows['nb'], there)
                 for _name, each in made if isinstance(each, model.Peering) and
                 any(networks.covers(prefix, address) for prefix in (
                     each.takes if each.pair else each.gives)))


def _way(driver: base.Driver, peering: model.Peering, node: model.Node,
         nb: columns.Tables,
         there: Mapping[tuple[Hashable, ...], Iterable[typing.Any]]) -> Way:
    wanted = next((each for each in driver.resources(peering, node)
                   if isinstance(each, resources.Peering)), None)
    if wanted is None:
        return Way(peering)
    desired = collections.Counter(peering_rows.wanted(wanted))
    found = collections.Counter(
        each.values for each in there.get(wanted.key, ()))
    way = Way(peering, wanted, tuple((desired - found).elements()),
              tuple((found - desired).elements()))
    here, elsewhere = (sorted(_foreign(nb, router), reverse=True)
                   for router in (peering.router, way.entry.router))
    return way._replace(foreign=tuple(elsewhere), detours=tuple(
        each for each in here if each.action != 'allow'))


def _foreign(nb: columns.Tables, router: str
             ) -> Iterator[resources.PeerPolicy]:
    for row in nb['Logical_Router'].values():
        if str(row.uuid) == router:
            for policy in columns.rows(row, 'policies'):
                if not columns.entry(policy, 'external_ids',
                                     ownership.EXT_ID_MANAGED):
                    yield resources.PeerPolicy(
                        columns.atom(policy, 'priority'),
                        columns.atom(policy, 'match'),
                        columns.atom(policy, 'action'))


def find_vip(conf: cfg.ConfigOpts, address: str,
             answer: agent.Answer | readers.Unread,
             drivers: Sequence[base.Driver]) -> subjects.Subject | None:
    """The subject of a VIP, or None; ValueError for a bad rules file."""
    try:
        vip = next((each for each in rules.load(conf)
                    if each.address == address), None)
    except file_problems.BadFile as error:
        raise ValueError('; '.join(error.messages)) from error
    if vip is None:
        return None
    known = {} if isinstance(answer, readers.Unread) else answer
    vip = with_health(vip, known)
    if not vip.managed:
        vip = vip._replace(
            present=address in node_addresses.read(conf.frr.vrf_name))
    node = switch.node(
        conf.frr.vrf_name, conf.port_forward.port_forward_dev,
        extent=port_forwards.extent(port_forwards.Forwards((vip,))))
    return subjects.of_vip(vip, node, has_gateway(known), drivers)


def with_health(vip: port_forwards.Vip, answer: agent.Answer
                ) -> port_forwards.Vip:
    """A VIP whose destinations are as alive as the agent says."""
    known = next((each for each in answer.get('vips', ())
                  if each['address'] == vip.address), None)
    if known is None:
        return vip
    health = {(rule['proto'], rule['port'], backend['address']):
              (backend['alive'], backend['why'])
              for rule in known['rules'] for backend in rule['backends']}
    return vip._replace(rules=tuple(
        dataclasses.replace(rule, destinations=tuple(
            dataclasses.replace(backend, **dict(zip(
                ('alive', 'why'), health.get(
                    (rule.proto, rule.port, backend.address), (True, '')),
                strict=True)))
            for backend in rule.destinations))
        for rule in vip.rules))


def has_gateway(answer: agent.Answer) -> bool | None:
    """Whether a router has its has_gateway here; None when unknown."""
    if 'groups' not in answer:
        return None
    return any(port['here'] for group in answer['groups']
               for port in group['ports'])

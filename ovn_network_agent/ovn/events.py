# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rows of OVN that the view is made of; a change only wakes the loop."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools
from typing import Any

from ovsdbapp.backend.ovs_idl import event as ovsdb_event

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.conf import plugins
from ovn_network_agent.drivers import base
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb.columns import Row

# The rows that the view (ovn.snapshot) is built from; drivers may add more.
VIEW = (
    base.Watch('sb', 'Port_Binding',
               ('logical_port', 'type', 'chassis'),
               conditions=(('type', '=', 'chassisredirect'),), urgent=True),
    base.Watch('sb', 'Port_Binding',
               ('logical_port', 'type', 'options', 'nat_addresses',
                'external_ids', 'datapath', 'tag', 'ha_chassis_group')),
    # Here only with distributed floating IPs.
    *(base.Watch('sb', 'Port_Binding', ('chassis', 'up'),
                 conditions=(('type', '=', kind),), urgent=True)
      for kind in ('', 'virtual', 'external')),
    # ovn-northd makes such a group for Gateway_Chassis, too, and new members
    # for each new order.
    base.Watch('sb', 'HA_Chassis_Group', ('ha_chassis',), events=('update',)),
    base.Watch('sb', 'HA_Chassis', ('chassis', 'priority'),
               events=('update',)),
    base.Watch('sb', 'Chassis', ('name', 'hostname')),
    base.Watch('sb', 'Encap', ('chassis_name', 'type', 'ip')),
    # For Port_Binding.datapath, and the UUID of the logical switch.
    base.Watch('sb', 'Datapath_Binding', ('tunnel_key', 'external_ids'),
               events=()),
    base.Watch('nb', 'NAT', ('type', 'external_ip', 'logical_ip',
                             'external_mac', 'logical_port', 'gateway_port',
                             'external_ids', 'options')),
    base.Watch('nb', 'Logical_Switch', ('name', 'external_ids')),
    base.Watch('nb', 'Logical_Router',
               ('name', 'nat', 'ports', 'static_routes', 'external_ids',
                'options', 'load_balancer', 'load_balancer_group')),
    base.Watch('nb', 'Load_Balancer', ('vips', 'options', 'external_ids')),
    base.Watch('nb', 'Load_Balancer_Group', ('load_balancer',)),
    base.Watch('nb', 'Logical_Router_Port',
               ('name', 'mac', 'networks', 'gateway_chassis',
                'ha_chassis_group', 'external_ids', 'options')),
    # Urgent, so that a port that is about to move is relayed before the move.
    base.Watch('nb', 'Gateway_Chassis',
               ('chassis_name', 'priority', 'external_ids'),
               urgent=True, stale=(notices.PRIORITIES,)),
    base.Watch('nb', 'HA_Chassis_Group', ('name', 'ha_chassis'),
               stale=(notices.PRIORITIES,)),
    base.Watch('nb', 'HA_Chassis',
               ('chassis_name', 'priority', 'external_ids'),
               urgent=True, stale=(notices.PRIORITIES,)),
    base.Watch('nb', 'Logical_Router_Static_Route',
               ('ip_prefix', 'nexthop', 'output_port', 'policy',
                'route_table', 'external_ids'),
               stale=(notices.STATIC_ROUTES,)),
    base.Watch('nb', 'Static_MAC_Binding',
               ('logical_port', 'ip', 'mac', 'override_dynamic_mac'),
               stale=(notices.MAC_BINDINGS,)),
    # Few writers: ovn-northd at its start, operators, and agents.
    base.Watch('nb', 'NB_Global', ('options', 'external_ids'),
               stale=(notices.BFD_TIMERS, notices.EGRESS_NETWORKS)),
    base.Watch('ovs', 'Open_vSwitch', ('external_ids', 'bridges')),
    base.Watch('ovs', 'Bridge', ('name', 'ports')),
    base.Watch('ovs', 'Port', ('name', 'interfaces', 'external_ids')),
    base.Watch('ovs', 'Interface', ('name', 'type', 'ofport', 'options',
                                    'external_ids', 'error'),
               stale=(notices.INTERFACES,)),
    # The replica has relays and patch ports; only relays have BFD.
    base.Watch('ovs', 'Interface', ('bfd',), stale=(notices.SWITCH_PORTS,)),
    base.Watch('ovs', 'Interface', ('bfd_status',), events=('update',)),
    base.Watch('ovs', 'Port', ('vlan_mode', 'trunks', 'tag', 'protected',
                               'other_config'),
               events=('update',), stale=(notices.SWITCH_PORTS,)),
)

# Each ovn-controller writes here when NB's nb_cfg is raised: only for
# silent_chassis_limit, without waking the loop.
SILENCE = (
    base.Watch('sb', 'Chassis_Private',
               ('name', 'nb_cfg', 'nb_cfg_timestamp'), events=()),
    base.Watch('sb', 'SB_Global', ('nb_cfg',), events=()),
)

# For routers with dynamic-routing, in OVN since 25.03; many rows, so only with
# the option.
ADVERTISED = 'Advertised_Route'
_ADVERTISED = (base.Watch('sb', ADVERTISED, ('datapath', 'ip_prefix')),)

# The rows that the servers send of some tables; the others are sent whole.
_OF_AGENTS = ['map', [
    [ownership.EXT_ID_MANAGED, ownership.EXT_ID_MANAGED_VALUE]]]
CONDITIONS = (
    ('sb', 'Port_Binding', [['type', '==', t] for t in rows.OF_NETWORKS]),
    ('nb', 'Logical_Router_Static_Route',
     [['ip_prefix', '==', '0.0.0.0/0'], ['ip_prefix', '==', '::/0'],
      ['external_ids', 'includes', _OF_AGENTS]]),
    # Patch ports and the agent's relays, but not OVN's hundreds of tunnels.
    ('ovs', 'Interface', [
        ['type', '==', 'patch'],
        ['external_ids', 'includes', _OF_AGENTS]]),
)
# OVN 22.03 (NB schema 6.1.0, SB 20.21.0) to 26.03 (NB 7.18.0) have all but
# Static_MAC_Binding.  Nothing is concluded from a database that lacks one.
OLDEST = '22.03'
# The view reads no rows of a missing one; a command reports it.
_OPTIONAL_TABLES = {'Gateway_Chassis', 'HA_Chassis', 'HA_Chassis_Group',
                    'Load_Balancer', 'Load_Balancer_Group', 'Logical_Switch',
                    'Static_MAC_Binding'}
_OPTIONAL_COLUMNS = {
    ('Datapath_Binding', 'external_ids'),
    ('Logical_Router', 'load_balancer'),
    ('Logical_Router', 'load_balancer_group'),
    ('Logical_Router', 'options'),
    ('Logical_Router_Port', 'external_ids'),
    ('Logical_Router_Port', 'gateway_chassis'),
    ('Logical_Router_Port', 'ha_chassis_group'),
    ('Logical_Router_Port', 'ipv6_ra_configs'),
    ('Logical_Router_Port', 'options'),
    ('Logical_Router_Static_Route', 'output_port'),
    ('Logical_Router_Static_Route', 'policy'),
    ('Logical_Router_Static_Route', 'route_table'),
    ('NAT', 'external_ids'), ('NAT', 'external_mac'),
    ('NAT', 'gateway_port'), ('NAT', 'logical_port'), ('NAT', 'options'),
    ('Port_Binding', 'additional_chassis'), ('Port_Binding', 'port_security'),
    ('Port_Binding', 'requested_chassis'),
    ('Port_Binding', 'tag'),
    ('Port_Binding', 'up'),
}


class OwnRows:
    """Which changes of rows in NB are about rows of this chassis.

    Most are other chassis' rows, and to read again for each would cost every
    agent a search through the cloud.  On the thread of the connection, by the
    last view.
    """

    def __init__(self, last: Callable[[], model.Snapshot | None],
                 dead: Callable[[], frozenset[ownership.Owner]]) -> None:
        self._last = last
        self._dead = dead
        # Of the snapshot that they were made from.
        self._ports: frozenset[str] = frozenset()
        self._macs: frozenset[str] = frozenset()
        self._made_from: model.Snapshot | None = None

    def route(self, row: Row, old: Row) -> bool:
        """Whether a route was or is ours, of a dead chassis or nobody."""
        if ownership.peer_of(row.external_ids):
            return False
        last = self._last()
        if last is None or not last.node.hostname:
            return True
        owners = {ownership.Owner()} | last.node.marks | self._dead()
        return any(_owner(part) in owners for part in (row, old)
                   if hasattr(part, 'external_ids'))

    def binding(self, row: Row, old: Row) -> bool:
        """Whether a binding may be of this chassis, by its port and MAC."""
        last = self._last()
        if last is None:
            return True
        if last is not self._made_from:
            self._ports = frozenset(port.lrp for router in last.routers
                                    for port in router.ports)
            self._macs = frozenset(d.mac for d in last.node.devices)
            self._made_from = last
        return row.logical_port in self._ports or any(
            part.mac in self._macs for part in (row, old)
            if hasattr(part, 'mac'))


def _owner(row: Row) -> ownership.Owner:
    """The mark on a managed route, an empty one on another route."""
    if not ownership.is_managed(row.external_ids):
        return ownership.Owner()
    return ownership.owner(row.external_ids)


class WakeEvent(ovsdb_event.RowEvent):
    """A :class:`drivers.base.Watch` as a RowEvent, on the IDL thread.

    :param owner: driver; equal events of two would otherwise be one
    :param is_own: of :class:`OwnRows`, if only rows of this chassis count
    """

    def __init__(self, owner: str, watch: base.Watch,
                 trigger: triggers.Trigger,
                 is_own: Callable[[Row, Row | None], bool] | None = None
                 ) -> None:
        super().__init__(watch.events, watch.table, watch.conditions)
        self._owner = owner
        self._watch = watch
        self._trigger = trigger
        self._is_own = is_own
        self._reason = f'{watch.database}:{watch.table}'

    @property
    def key(self) -> tuple[type, str, base.Watch]:
        """(class, owner, watch); ovsdbapp keeps one event of each key."""
        return (self.__class__, self._owner, self._watch)

    def matches(self, event: str, row: Row, old: Row | None = None) -> bool:
        """The library's, without a text that costs most of the first load."""
        return (event in self.events and columns.table(row) == self.table and
                bool(self.base_match(event, row, old)) and
                self.match_fn(event, row, old))

    def match_fn(self, event: str, row: Row, old: Row | None) -> bool:
        """Whether a watched column has changed, in a row that counts.

        A row new or gone has no former values; attributes would convert sets.
        """
        if old is not None and columns.names(old).isdisjoint(
                self._watch.columns):
            return False
        return self._is_own is None or self._is_own(row, old)

    def run(self, event: str, row: Row, old: Row | None) -> None:
        """Fire the trigger; nothing of the row is passed on."""
        self._trigger.fire(self._reason, urgent=self._watch.urgent,
                           stale=self._watch.stale)


def of_watch(owner: str, watch: base.Watch, own: OwnRows,
             trigger: triggers.Trigger) -> list[WakeEvent]:
    """The events of a watch: changes of others put no backend in doubt."""
    is_own = {'Logical_Router_Static_Route': own.route,
              'Static_MAC_Binding': own.binding}.get(watch.table)
    for notice, mark in _MARKS.items():
        if notice in watch.stale:
            is_own = functools.partial(_has_mark, mark)
    if watch.database != 'nb' or is_own is None or not watch.stale:
        return [WakeEvent(owner, watch, trigger)]
    return [WakeEvent(owner, dataclasses.replace(watch, stale=()), trigger),
            WakeEvent(owner, watch, trigger, is_own)]


# By the notice of rows that belong to no node, the mark of these.
_MARKS = {notices.PEERINGS: ownership.EXT_ID_PEER,
          notices.EGRESS: ownership.EXT_ID_EGRESS}


def _has_mark(mark: str, row: Row, old: Row | None) -> bool:
    """Whether a row has a mark, or has lost it."""
    return any(mark in (getattr(each, 'external_ids', None) or ())
               for each in (row, old))


def of_view(conf: Any) -> tuple[base.Watch, ...]:
    """The watches that the view needs, by the oslo.config ConfigOpts."""
    return (VIEW +
            (SILENCE if conf.gateway_drain.silent_chassis_limit else ()) +
            (_ADVERTISED if conf.announce.advertised_routes else ()))


def conditions(conf: Any) -> Iterator[tuple[str, str, list[Any]]]:
    """The clauses of databases and tables, by the ConfigOpts."""
    for database, table, clauses in CONDITIONS:
        if table == 'Logical_Router_Static_Route' and _all_routes(conf):
            continue
        if table == 'Port_Binding' and plugins.requested(
                conf, plugins.MACHINES):
            # Machines here may have their addresses as allowed address pairs.
            clauses = [*clauses, ['type', '==', 'virtual']]
        yield database, table, clauses


def _all_routes(conf: Any) -> bool:
    return plugins.requested(conf, plugins.STATIC_ROUTES) or (
        bool(conf.tenant_network.extra_routes) and
        plugins.requested(conf, plugins.TENANTS))


def bound_to(chassis: columns.Uuid) -> list[list[Any]]:
    """The clauses for all ports that a chassis has, or is about to get.

    :returns: see :meth:`ovsdb.connection.Database.also`
    """
    own = ['uuid', str(chassis)]
    return [['chassis', '==', own], ['additional_chassis', 'includes', own],
            ['requested_chassis', '==', own]]


def at(datapaths: Iterable[columns.Uuid]) -> list[list[Any]]:
    """Likewise for all ports of networks."""
    return [['datapath', '==', ['uuid', text]]
            for text in sorted(map(str, datapaths))]


def objection(database: str, required: Mapping[str, set[str]],
              tables: Mapping[str, Any]) -> str:
    """Why a database with this schema, in JSON, cannot be used, or ''."""
    missing: set[str] = set()
    for watch in VIEW:
        if watch.database != database or watch.table not in required or (
                watch.table in _OPTIONAL_TABLES):
            continue
        if watch.table not in tables:
            missing.add(f'table {watch.table}')
            continue
        present = tables[watch.table]['columns']
        missing.update(
            f'column {column} of table {watch.table}'
            for column in required[watch.table].intersection(watch.columns)
            if column not in present and
            (watch.table, column) not in _OPTIONAL_COLUMNS)
    if not missing:
        return ''
    return (f'{connection.SCHEMAS[database]} has no '
            f'{", no ".join(sorted(missing))}: it is of an OVN older than '
            f'{OLDEST}, or of none')

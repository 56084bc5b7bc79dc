# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rows of OVN SB that concern some gateway ports, or an address."""

from collections.abc import Collection
from collections.abc import Iterable

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import ovsdb
from ovn_network_agent.common import error_words
from ovn_network_agent.conf import plugins
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.model.node import Wiring
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import single_query

# The types of the ports of machines, and the columns with their addresses.
_OF_MACHINES = ('', 'virtual', 'external', 'localport')
_OF_ADDRESSES = ('logical_port', 'mac', 'port_security')


def read(conf: cfg.ConfigOpts, here: Wiring, lrps: Collection[str],
         chassis: Iterable[str], hostnames: Collection[str],
         machines: Iterable[str], timeout: float, hosts: bool = False
         ) -> columns.Tables:
    """Select the rows of gateway ports and of the chassis.

    :param chassis: names of further chassis, such as the candidates
    :param machines: names of logical ports of virtual machines
    :param hosts: whether to select the machines in networks of tenants
    """
    try:
        with single_query.Session(conf.ovn.ovn_sb_remote,
                                  ovsdb.SCHEMAS['sb'], timeout) as session:
            _select(session, here, lrps, chassis, hostnames, machines)
            if plugins.requested(conf, plugins.VNIS):
                _select_attached(session)
            if conf.announce.advertised_routes and (
                    session.has(events.ADVERTISED)):
                _select_advertised(session)
            if hosts:
                _select_machines(session)
            if inputs.choice(conf).checks_backends:
                session.select(('Service_Monitor',))
            return session.tables
    except (single_query.Failed, OSError) as error:
        raise readers.Unread(error_words.text(error)) from error


def read_ports(conf: cfg.ConfigOpts, here: Wiring, address: str,
               timeout: float) -> tuple[columns.Tables, list[str]]:
    """Select the ports of machines that have an address, and name them.

    OVSDB has no question for an address in the texts of a column, so all ports
    of machines are looked at, with few columns.
    """
    try:
        with single_query.Session(conf.ovn.ovn_sb_remote,
                                  ovsdb.SCHEMAS['sb'], timeout) as session:
            names = _with_address(session, address)
            if names:
                _select_networks(session, here, names)
            return session.tables, names
    except (single_query.Failed, OSError) as error:
        raise readers.Unread(error_words.text(error)) from error


def _with_address(session: single_query.Session, address: str) -> list[str]:
    answers = session.select(
        *(('Port_Binding', ['type', '==', kind]) for kind in _OF_MACHINES),
        columns=[each for each in _OF_ADDRESSES
                 if session.has('Port_Binding', each)])
    # A row with few columns is no row for other readers.
    session.tables['Port_Binding'].clear()
    return [row.logical_port for found in answers for row in found
            if address in rows.machine(row, True)[0]]


def _select_networks(session: single_query.Session, here: Wiring,
                     names: Iterable[str]) -> None:
    """Select ports of machines, with their networks and their chassis."""
    _select(session, here, (), (), [here.hostname], names)
    ports = [*session.tables['Port_Binding'].values()]
    datapaths = {key for row in ports
                 for key in columns.referenced(row, 'datapath')}
    session.by_uuid('Datapath_Binding', datapaths)
    session.by_uuid('Chassis', {
        key for row in ports
        for key in columns.referenced(row, 'additional_chassis')})
    session.select(
        *(('Port_Binding', ['type', '==', kind],
           ['datapath', '==', ['uuid', str(key)]])
          for key in datapaths for kind in ('localnet', 'patch')),
        *(('Port_Binding', ['logical_port', '==', row.virtual_parent[0]])
          for row in ports if columns.optional(row, 'virtual_parent')))


def _select_attached(session: single_query.Session) -> None:
    """Select the ports of other routers on the provider networks."""
    session.select(*(
        ('Port_Binding', ['type', '==', 'patch'],
         ['datapath', '==', ['uuid', str(key)]])
        for row in session.tables['Port_Binding'].values()
        if row.type == 'localnet'
        for key in columns.referenced(row, 'datapath')))


def _select_machines(session: single_query.Session) -> None:
    """Select the machines in the networks without a localnet port."""
    rows_ = [*session.tables['Port_Binding'].values()]
    keys = {kind: {key for row in rows_ if row.type == kind
                   for key in columns.referenced(row, 'datapath')}
            for kind in ('patch', 'localnet')}
    answers = session.select(*(
        ('Port_Binding', ['type', '==', kind],
         ['datapath', '==', ['uuid', str(key)]])
        for key in sorted(keys['patch'] - keys['localnet'])
        for kind in ('', 'virtual')))
    session.by_uuid('Chassis', {
        key for found in answers for row in found
        for key in columns.referenced(row, 'chassis')})


def _select_advertised(session: single_query.Session) -> None:
    """Select what OVN advertises for the routers of the gateway ports."""
    datapaths = {key for row in session.tables['Port_Binding'].values()
                 if row.type == 'chassisredirect'
                 for key in columns.referenced(row, 'datapath')}
    session.select(*((events.ADVERTISED, ['datapath', '==',
                                          ['uuid', str(key)]])
                     for key in sorted(datapaths)))


def _select(session: single_query.Session, here: Wiring,
            lrps: Collection[str], chassis: Iterable[str],
            hostnames: Collection[str], machines: Iterable[str]) -> None:
    tunnels = session.select(
        ('Encap', ['chassis_name', '==', here.chassis]),
        *(('Encap', ['ip', '==', address]) for address in here.addresses))
    chassis = {here.chassis, *chassis, *(
        row.chassis_name for rows in tunnels for row in rows)}
    answers = session.select(
        *(('Chassis', ['name', '==', name])
          for name in sorted(chassis)),
        *(('Chassis', ['hostname', '==', name]) for name in hostnames),
        *(('Port_Binding', ['logical_port', '==', model.REDIRECT + lrp])
          for lrp in lrps),
        *(('Port_Binding', ['type', '==', 'patch'],
           ['options', 'includes', ['map', [['peer', lrp]]]])
          for lrp in lrps),
        *(('Port_Binding', ['logical_port', '==', name])
          for name in machines))
    names = len(chassis) + len(hostnames)
    bindings = [row for rows in answers[names:] for row in rows]
    session.by_uuid('Chassis', {
        key for row in bindings for key in columns.referenced(row, 'chassis')})
    session.by_uuid('Datapath_Binding', {
        row.datapath.uuid for row in bindings if row.type == 'patch'})
    session.select(*(
        ('Port_Binding', ['type', '==', 'localnet'],
         ['datapath', '==', ['uuid', str(row.datapath.uuid)]])
        for row in bindings if row.type == 'patch'))

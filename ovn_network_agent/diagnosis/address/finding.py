# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whose an address or prefix is, by the rows of OVN, for each VNI."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.conf import plugins
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import owners
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.readers import northbound
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.model.node import Wiring
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.ovn.chassis import own_chassis
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import query

# The types of the ports of machines, and the columns with their addresses.
_OF_MACHINES = ('', 'virtual', 'external', 'localport')
_OF_ADDRESSES = ('logical_port', 'mac', 'port_security')


def nothing(asked: str) -> subjects.Subject:
    """The subject before anything is known of it."""
    return subjects.Subject(
        str(ip_text.network(asked).network_address),
        asked=asked if '/' in asked else '')


def find(conf: cfg.ConfigOpts, address: str, drivers: Sequence[base.Driver],
         status: facts.StatusOf = lambda vni: None
         ) -> tuple[list[subjects.Subject], facts.Bindings]:
    """The kind of an address, and the objects that the address needs.

    :param address: IP address or prefix in canonical notation
    :returns: the subjects, the first outside of VNIs, and the bindings
    :raises readers.Unread: when a database cannot be read
    """
    wiring = switch.read(conf)
    try:
        found = [nothing(address)]
        bindings: facts.Bindings = ()
        if not found[0].asked:
            found, bindings = _of_address(conf, wiring, address, drivers)
        free = _is_free(conf, found[0])
        if plugins.requested(conf, plugins.TENANTS) and (
                free or plugins.requested(conf, plugins.VNIS)):
            nb, sb = _behind(conf, wiring, address)
            outside, *in_vnis = owners.of_tenant(
                address, _builder(conf), nb, sb, wiring, drivers, status)
            found = _joined(conf, found, in_vnis)
            bindings += _bindings(nb)
            if free and outside.tenant:
                found[0] = outside
        return found, bindings
    except own_chassis.Unknown as error:
        raise readers.Unread(str(error)) from error


def _of_address(conf: cfg.ConfigOpts, wiring: Wiring, address: str,
                drivers: Sequence[base.Driver]
                ) -> tuple[list[subjects.Subject], facts.Bindings]:
    """(subjects of routers and machines, as :func:`find`; bindings)."""
    nb, sb = _gateways(conf, wiring, address)
    found = owners.make(address, _builder(conf), nb, sb, wiring, drivers)
    free = found[0].kind is subjects.Kind.NOBODY
    if plugins.requested(conf, plugins.MACHINES) and (
            free or plugins.requested(conf, plugins.VNIS)):
        of_machines = _of_machines(conf, address, wiring, drivers)
        found = _joined(conf, found,
                        [each for each in of_machines if each.vni])
        if free:
            found[0] = next((each for each in of_machines if not each.vni),
                            found[0])
    return found, _bindings(nb)


def _joined(conf: cfg.ConfigOpts, found: Iterable[subjects.Subject],
            others: Iterable[subjects.Subject]) -> list[subjects.Subject]:
    """Subjects by VNI; others come first only in place of a free one alone."""
    by_vni = {each.vni: each for each in others}
    by_vni.update((each.vni, each) for each in found
                  if each.vni not in by_vni or not _is_free(conf, each))
    return [each for _vni, each in sorted(by_vni.items())]


def _is_free(conf: cfg.ConfigOpts, about: subjects.Subject) -> bool:
    """Whether a network of a tenant comes first."""
    return (about.kind is subjects.Kind.NOBODY or
            about.kind is subjects.Kind.BALANCER and not _is_public(
                conf, about) or
            bool(about.binding and about.binding.left_out))


def _is_public(conf: cfg.ConfigOpts, about: subjects.Subject) -> bool:
    return about.port is not None and networks.inside(
        about.address, announcing.provider_networks(conf, about.port))


def _builder(conf: cfg.ConfigOpts) -> snapshot.Builder:
    return snapshot.Builder(conf.gateway_port, inputs.choice(conf))


def _bindings(nb: columns.Tables) -> facts.Bindings:
    """See :attr:`facts.Facts.bindings`."""
    return tuple((row.logical_port, row.ip, row.mac.lower())
                 for row in nb.get('Static_MAC_Binding', {}).values())


def _gateways(conf: cfg.ConfigOpts, wiring: Wiring, address: str
              ) -> tuple[columns.Tables, columns.Tables]:
    nb = northbound.read(conf, address)
    ports = [port for port in nb['Logical_Router_Port'].values()
             if rows.members(port)[2]]
    return _with_vnis(conf, nb, _southbound(conf, wiring, nb, ports, [
        columns.optional(row, 'logical_port')
        for row in owners.floating(address, nb)]))


def _behind(conf: cfg.ConfigOpts, wiring: Wiring, prefix: str
            ) -> tuple[columns.Tables, columns.Tables]:
    nb = northbound.read_tenants(conf, prefix)
    return _with_vnis(conf, nb, _southbound(
        conf, wiring, nb, [*nb['Logical_Router_Port'].values()], (),
        conf.tenant_network.advertisement_method == 'host'))


def _with_vnis(conf: cfg.ConfigOpts, nb: northbound.Tables,
               sb: columns.Tables) -> tuple[columns.Tables, columns.Tables]:
    """NB with what says which networks have a VNI, and SB."""
    if plugins.requested(conf, plugins.VNIS):
        for table, found in northbound.read_networks(conf, sb).items():
            nb[table] = {**found, **nb.get(table, {})}
    return nb, sb


def _southbound(conf: cfg.ConfigOpts, here: Wiring,
                nb: columns.Tables, ports: list[columns.Row],
                machines: Iterable[str], hosts: bool = False
                ) -> columns.Tables:
    """Select the rows of gateway ports and of the chassis.

    :param machines: names of logical ports of virtual machines
    :param hosts: whether to select the machines in networks of tenants
    """
    hostnames = {here.hostname} | {
        ownership.owner(row.external_ids).hostname
        for row in nb['Logical_Router_Static_Route'].values()} - {''}
    with readers.Session(conf, 'sb') as session:
        _select(session, here, [port.name for port in ports], [
            member.chassis_name for port in ports
            for member in rows.members(port)[2]], sorted(hostnames), machines)
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


def _of_machines(conf: cfg.ConfigOpts, address: str, wiring: Wiring,
                 drivers: Sequence[base.Driver]) -> list[subjects.Subject]:
    sb, names = _ports(conf, wiring, address)
    if not names:
        return []
    return owners.of_machine(
        address, _builder(conf),
        northbound.read_networks(conf, sb), sb, wiring, drivers,
        names, conf.provider_port.allowed_address_pairs)


def _ports(conf: cfg.ConfigOpts, here: Wiring, address: str
           ) -> tuple[columns.Tables, list[str]]:
    """Select the ports of machines that have an address, and name them.

    OVSDB has no question for an address in the texts of a column, so all ports
    of machines are looked at, with few columns.
    """
    with readers.Session(conf, 'sb') as session:
        names = _with_address(session, address)
        if names:
            _select_networks(session, here, names)
        return session.tables, names


def _with_address(session: query.Session, address: str) -> list[str]:
    answers = session.select(
        *(('Port_Binding', ['type', '==', kind]) for kind in _OF_MACHINES),
        columns=[each for each in _OF_ADDRESSES
                 if session.has('Port_Binding', each)])
    # A row with few columns is no row for other readers.
    session.tables['Port_Binding'].clear()
    return [row.logical_port for found in answers for row in found
            if address in rows.machine(row, True)[0]]


def _select_networks(session: query.Session, here: Wiring,
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


def _select_attached(session: query.Session) -> None:
    """Select the ports of other routers on the provider networks."""
    session.select(*(
        ('Port_Binding', ['type', '==', 'patch'],
         ['datapath', '==', ['uuid', str(key)]])
        for row in session.tables['Port_Binding'].values()
        if row.type == 'localnet'
        for key in columns.referenced(row, 'datapath')))


def _select_machines(session: query.Session) -> None:
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


def _select_advertised(session: query.Session) -> None:
    """Select what OVN advertises for the routers of the gateway ports."""
    datapaths = {key for row in session.tables['Port_Binding'].values()
                 if row.type == 'chassisredirect'
                 for key in columns.referenced(row, 'datapath')}
    session.select(*((events.ADVERTISED, ['datapath', '==',
                                          ['uuid', str(key)]])
                     for key in sorted(datapaths)))


def _select(session: query.Session, here: Wiring,
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

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whose an address or prefix is, by the rows of OVN, for each VNI."""

from collections.abc import Iterable
from collections.abc import Sequence

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.conf import plugins
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import owners
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.readers import northbound
from ovn_network_agent.diagnosis.readers import southbound
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.model.node import Wiring
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.ovn.chassis import own_chassis
from ovn_network_agent.ovsdb import columns

_DATABASE = 5.0


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
    wiring = switch.read(conf, _DATABASE)
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
    nb = northbound.read(conf, address, _DATABASE)
    ports = [port for port in nb['Logical_Router_Port'].values()
             if rows.members(port)[2]]
    return _with_vnis(conf, nb, _southbound(conf, wiring, nb, ports,
                                            _machines(address, nb)))


def _behind(conf: cfg.ConfigOpts, wiring: Wiring, prefix: str
            ) -> tuple[columns.Tables, columns.Tables]:
    nb = northbound.read_tenants(conf, prefix, _DATABASE)
    return _with_vnis(conf, nb, _southbound(
        conf, wiring, nb, [*nb['Logical_Router_Port'].values()], (),
        conf.tenant_network.advertisement_method == 'host'))


def _with_vnis(conf: cfg.ConfigOpts, nb: northbound.Tables,
               sb: columns.Tables) -> tuple[columns.Tables, columns.Tables]:
    """NB with what says which networks have a VNI, and SB."""
    if plugins.requested(conf, plugins.VNIS):
        for table, found in northbound.read_networks(conf, sb,
                                                     _DATABASE).items():
            nb[table] = {**found, **nb.get(table, {})}
    return nb, sb


def _southbound(conf: cfg.ConfigOpts, wiring: Wiring,
                nb: columns.Tables, ports: list[columns.Row],
                machines_: Iterable[str], hosts: bool = False
                ) -> columns.Tables:
    return southbound.read(
        conf, wiring, [port.name for port in ports],
        [member.chassis_name for port in ports
         for member in rows.members(port)[2]],
        sorted({wiring.hostname} | {
            ownership.owner(row.external_ids).hostname
            for row in nb['Logical_Router_Static_Route'].values()} - {''}),
        machines_, _DATABASE, hosts)


def _of_machines(conf: cfg.ConfigOpts, address: str, wiring: Wiring,
                 drivers: Sequence[base.Driver]) -> list[subjects.Subject]:
    sb, names = southbound.read_ports(conf, wiring, address, _DATABASE)
    if not names:
        return []
    return owners.of_machine(
        address, _builder(conf),
        northbound.read_networks(conf, sb, _DATABASE), sb, wiring, drivers,
        names, conf.provider_port.allowed_address_pairs)


def _machines(address: str, nb: columns.Tables) -> list[str]:
    return [columns.optional(row, 'logical_port')
            for row in owners.floating(address, nb)]

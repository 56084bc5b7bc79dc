# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an address of a router is in OVN.  Pure."""

import collections
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import typing

from ovn_network_agent import diagnosis
from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers import tenant_network
from ovn_network_agent.model.node import Wiring
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovn.subjects import tenant_hosts
from ovn_network_agent.ovsdb import columns

# A router, what the address is there, its NAT row and gateway port.
_Found: typing.TypeAlias = tuple[model.Router, subjects.Kind,
                                 model.Nat | None, model.GatewayPort | None]
_CHECK = 'tenant-network'
_HOSTS = ('only addresses of machines that are up, and with the driver '
          'load_balancer virtual IPs, are announced ([tenant_network] '
          'advertisement_method is host)')
# By what the agent says, because only the agent knows who was first.
_CLAIMS = {'announced': model.Claim.FIRST, 'omitted': model.Claim.REFUSED}


def make(address: str, builder: snapshot.Builder, nb: columns.Tables,
         sb: columns.Tables, wiring: Wiring,
         drivers: Sequence[base.Driver]) -> list[subjects.Subject]:
    """Find what an address is in OVN, and what has to exist for it.

    :returns: that outside of VNIs, of kind NOBODY if no router has the address
        there, and those in VNIs
    """
    seen = view(builder, nb, sb, wiring)
    found = [(router, *_place_in(
        address, router, builder.addresses(router.uuid).sources(address)))
             for router in seen.routers]
    places: dict[int, list[_Found]] = {0: []}
    for each in found:
        if each[1] is subjects.Kind.NOBODY:
            continue
        places.setdefault(each[3].domain if each[3] else 0, []).append(each)
    return [_of_routers(address, builder, nb, sb, drivers, seen, each)
            for _vni, each in sorted(places.items())]


def _of_routers(address: str, builder: snapshot.Builder, nb: columns.Tables,
                sb: columns.Tables, drivers: Sequence[base.Driver],
                seen: model.Snapshot, found: list[_Found]) -> subjects.Subject:
    if not found:
        return subjects.Subject(address, node=seen.node)
    # A router whose port is here comes first: it is asked for on this node.
    found.sort(key=lambda each: not (each[3] and each[3].local or
                                     each[2] and each[2].resident))
    router, kind, nat, port = found[0]
    machine = _machine(address, router, nb, sb) if (
        kind in (subjects.Kind.DISTRIBUTED, subjects.Kind.FIP)) else None
    served = [each for each in seen.addresses[router.uuid].values()
              if each.address == address and each.port.domain == (
                  port.domain if port else 0)]
    withheld = next((each.withheld for each in served if each.withheld), (
        builder.addresses(router.uuid).objection(
            address, port.lrp if port else '')))
    return subjects.wanting(subjects.Subject(
        address, kind, seen.node, router, port, nat,
        machine.host if machine and machine.mac else
        hostname(sb, port.chassis) if port else '',
        tuple(_claim(nb, sb, *each) for each in found),
        machine=machine, own=builder.own, withheld=withheld,
        provider=provider(seen, port)),
        drivers, router.uuid, seen.node, router, *served)


def provider(seen: model.Snapshot, port: model.GatewayPort | None
             ) -> model.ProviderNetwork | None:
    """The network of a gateway port in a VNI, None without one here."""
    return seen.networks.get(port.network) if port and port.vni else None


def view(builder: snapshot.Builder, nb: columns.Tables, sb: columns.Tables,
         wiring: Wiring) -> model.Snapshot:
    """The view of all routers in some rows, see :func:`make`."""
    return builder.complete(builder.build(
        nb, sb, wiring, {}, model.Phase.RUNNING, full=True,
        also=frozenset(map(str, nb['Logical_Router']))))


def floating(address: str, nb: columns.Tables) -> list[columns.Row]:
    """The NAT rows of a floating IP that name a machine's port."""
    return [row for row in nb.get('NAT', {}).values()
            if row.external_ip == address and
            columns.optional(row, 'logical_port')]


def _place_in(address: str, router: model.Router,
              sources: networks.AddressSources
              ) -> tuple[subjects.Kind, model.Nat | None,
                         model.GatewayPort | None]:
    """(kind, NAT row or None, gateway port or None) of an address."""
    port = next((port for port in router.ports
                 for own in map(networks.parse_interface, port.networks)
                 if own and str(own.ip) == address), None)
    nats = sources.nats
    if nats:
        nat = min(nats, key=lambda each: each.type != 'dnat_and_snat')
        kind = subjects.Kind.SNAT if nat.type == 'snat' else (
            subjects.Kind.DISTRIBUTED if nat.distributed_mac
            else subjects.Kind.FIP)
        return kind, nat, networks.owner_of(nat, router.ports)
    if port is not None:
        return subjects.Kind.ROUTER, None, port
    if sources.balanced is not None:
        return subjects.Kind.BALANCER, None, (
            networks.owner(address, router.ports) if router.ports else None)
    return subjects.Kind.NOBODY, None, None


def _claim(nb: columns.Tables, sb: columns.Tables, router: model.Router,
           kind: subjects.Kind, nat: model.Nat | None,
           port: model.GatewayPort | None) -> subjects.Claim:
    owner = hostname(sb, port.chassis) if port else ''
    if nat is None:
        return subjects.Claim(kind.value, router.both_names, router.name,
                              owner=owner)
    names = [columns.optional(each, 'logical_port')
             for each in _rows_of(router, nb)
             if (each.type, each.external_ip, each.logical_ip) == (
                 nat.type, nat.external_ip, nat.logical_ip)]
    return subjects.Claim(kind.value, router.both_names, router.name, nat.type,
                          nat.logical_ip, next(filter(None, names), ''), owner)


def _rows_of(router: model.Router, nb: columns.Tables
             ) -> Sequence[columns.Row]:
    row = next((each for key, each in nb['Logical_Router'].items()
                if str(key) == router.uuid), None)
    return row.nat if row else ()


def _machine(address: str, router: model.Router, nb: columns.Tables,
             sb: columns.Tables) -> subjects.Machine | None:
    own = {row.uuid for row in _rows_of(router, nb)}
    row = min((each for each in floating(address, nb) if each.uuid in own),
              default=None,
              key=lambda each: not columns.optional(each, 'external_mac'))
    if row is None:
        return None
    port = columns.optional(row, 'logical_port')
    chassis = next((rows.chassis_name(binding)
                    for binding in sb['Port_Binding'].values()
                    if binding.logical_port == port), '')
    return subjects.Machine(
        str(row.uuid), columns.optional(row, 'external_mac') or '', port,
        hostname(sb, chassis), chassis)


def hostname(sb: columns.Tables, chassis: str) -> str:
    """The host name of a chassis, its name if it is gone."""
    return directory.hostnames(sb).get(chassis) or chassis


def of_machine(address: str, builder: snapshot.Builder, nb: columns.Tables,
               sb: columns.Tables, wiring: Wiring,
               drivers: Sequence[base.Driver], names: Collection[str],
               pairs: bool) -> list[subjects.Subject]:
    """Find which ports have an address, by VNI, and what has to exist for it.

    :param builder: new, with machines
    :param names: logical ports with the address, not empty
    :param pairs: [provider_port] allowed_address_pairs
    """
    seen = builder.build(nb, sb, wiring, {}, model.Phase.RUNNING, full=True)
    here = {each.port: each for known in seen.machines.values()
            for each in known.values()
            if each.address == address and each.announced}
    places = collections.defaultdict(list)
    for row in sb['Port_Binding'].values():
        if columns.atom(row, 'logical_port') in names:
            network = builder.network_of(row)
            places[network.domain if network else 0].append(ports.read(
                row, address, nb, sb, seen.node.chassis, pairs, network))
    return [_of_port(address, builder, seen.node, drivers, here, bound)
            for _vni, bound in sorted(places.items())]


def _of_port(address: str, builder: snapshot.Builder, node: model.Node,
             drivers: Sequence[base.Driver],
             here: dict[str, model.PortAddress], bound: list[ports.Port]
             ) -> subjects.Subject:
    """The subject of one place, which has a bound port."""
    # The one that is announced comes first.
    first, *also = sorted(bound, key=lambda port: (
        port.name not in here or bool(here[port.name].claimed),
        port.left_out is not None, not port.here, not port.host, port.name))
    found = here.get(first.name)
    about = subjects.Subject(
        address, subjects.Kind.MACHINE, node, owner=first.host,
        binding=first, also=tuple(
            port for port in also if port.left_out is None and port.host),
        own=builder.own)
    if found is None:
        chosen = builder.chosen.machines
        if first.here and first.up and first.left_out is None and (
                first.type == '' or first.parent):
            about = about._replace(binding=first.not_chosen(
                chosen is not None and chosen.without_vni))
        return about
    return subjects.wanting(
        about._replace(found=found, withheld=found.withheld),
        drivers, found.network.uuid, node, found.network, found)


def of_tenant(asked: str, builder: snapshot.Builder, nb: columns.Tables,
              sb: columns.Tables, wiring: Wiring,
              drivers: Sequence[base.Driver], status: facts.StatusOf
              ) -> list[subjects.Subject]:
    """Find the network of an address or prefix, and what has to exist for it.

    :param asked: address or prefix in canonical notation
    :returns: that outside of VNIs, of kind NOBODY without a network there, and
        those in VNIs
    """
    seen = view(builder, nb, sb, wiring)
    found = [(router, _tenant_prefix(asked, whole, hosts))
             for router in seen.routers
             for whole, hosts in builder.behind(router)
             if networks.covers(whole.prefix, asked)]
    address = str(next(iter(ip_text.network(asked).hosts())))
    about = subjects.Subject(address, node=seen.node, own=builder.own,
                             asked=asked if '/' in asked else '')
    places: dict[int, list[tuple[model.Router, model.TenantPrefix]]] = {0: []}
    for each in found:
        places.setdefault(each[1].port.domain, []).append(each)
    return [_of_networks(asked, about, sb, drivers, seen, each, status(vni))
            for vni, each in sorted(places.items())]


def _of_networks(asked: str, about: subjects.Subject, sb: columns.Tables,
                 drivers: Sequence[base.Driver], seen: model.Snapshot,
                 found: list[tuple[model.Router, model.TenantPrefix]],
                 status: agent.Answer | readers.Unread | None
                 ) -> subjects.Subject:
    answer = status if isinstance(status, dict) else {}
    if not found:
        return about
    # Networks in different scopes may have the same prefix.
    (router, tenant), *others = sorted(found, key=lambda each: (
        each[0].uuid != answer.get('router'), each[1].address != asked,
        not each[1].announced, not each[1].port.local))
    if tenant.rivals:
        tenant = tenant._replace(claim=_CLAIMS.get(
            answer.get('state', ''), model.Claim.UNKNOWN))
    return subjects.wanting(about._replace(
        kind=subjects.Kind.TENANT, router=router, port=tenant.port,
        owner=hostname(sb, tenant.port.chassis),
        withheld=tenant.withheld, tenant=tenant,
        provider=provider(seen, tenant.port),
        also=tuple(each for _router, each in others)), drivers, router.uuid,
        seen.node, router, tenant)


def _tenant_prefix(asked: str, whole: model.TenantPrefix,
                   hosts: Iterable[tenant_hosts.Host] | None
                   ) -> model.TenantPrefix:
    """What is announced for an address or prefix of a network."""
    if hosts is None:
        return whole
    return next((each for _prefix, each
                 in tenant_hosts.prefixes(whole, hosts, {})
                 if each.address == asked),
                whole._replace(withheld=_HOSTS))


def judge_tenant(subject: subjects.Subject) -> diagnosis.Finding:
    """The finding whose a network is, and whether it may be announced."""
    tenant = subjects.certain(subject.tenant)
    text = (f'{f"virtual IP {tenant.address} in " if tenant.vip else ""}'
            f'{tenant.subnet} of network {tenant.network} behind router '
            f'{tenant.called}')
    others = [each.called for each in subject.also
              if isinstance(each, model.TenantPrefix)]
    if others:
        text += (f' (also behind '
                 f'{wording.count(len(others), "other router")}, such as '
                 f'{others[0]})')
    if tenant.withheld:
        return verdicts.warn(
            _CHECK, f'{text}: not announced on purpose: {tenant.withheld}',
            'to have it announced, change what this names')
    wrong = tenant_network.fault(tenant)
    if wrong:
        return verdicts.warn(_CHECK, f'{text} {wrong.text}; {wrong.outcome}',
                             wrong.remedy)
    return verdicts.ok(_CHECK, f'{text}; nothing withholds it')

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an address of a router is in OVN.  Pure."""

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent.diagnosis.address import claims
from ovn_network_agent.diagnosis.address import needs
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.ovn import directory
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns


def make(address, builder, nb, sb, wiring, drivers):
    """Find what an address is in OVN, and what has to exist for it.

    :param address: IP address in canonical notation
    :param builder: new :class:`ovn.snapshot.Builder`
    :param nb: rows of NB, see :mod:`readers.northbound`
    :param sb: rows of SB, see :mod:`readers.southbound`
    :param wiring: :class:`model.wiring.Wiring`
    :param drivers: list of :class:`drivers.base.Driver`
    :returns: list of :class:`subject.Subject`: that outside of VNIs, of kind
        NOBODY if no router has the address there, and those in VNIs
    """
    seen = view(builder, nb, sb, wiring)
    found = [(router, *_place_in(
        address, router, builder.addresses(router.uuid).sources(address)))
             for router in seen.routers]
    found = [each for each in found if each[1] is not subjects.Kind.NOBODY]
    places = {0: []}
    for each in found:
        places.setdefault(each[3].domain if each[3] else 0, []).append(each)
    return [_of_routers(address, builder, nb, sb, drivers, seen, each)
            for _vni, each in sorted(places.items())]


def _of_routers(address, builder, nb, sb, drivers, seen, found):
    """The :class:`subject.Subject` of the routers with an address in one VNI.

    :param found: list of (router, kind, NAT row, gateway port)
    """
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
    return needs.wanting(subjects.Subject(
        address, kind, seen.node, router, port, nat,
        machine.host if machine and machine.mac else
        hostname(sb, port.chassis) if port else '',
        tuple(_claim(nb, sb, *each) for each in found),
        machine=machine, own=builder.own, withheld=withheld,
        provider=provider(seen, port)),
        drivers, router.uuid, seen.node, router, *served)


def provider(seen, port):
    """The network of a gateway port in a VNI, None without one here.

    :param seen: :class:`model.Snapshot`
    :param port: :class:`model.GatewayPort`, or None
    """
    return seen.networks.get(port.network) if port and port.vni else None


def view(builder, nb, sb, wiring):
    """The view of all routers in some rows, see :func:`make`."""
    return builder.complete(builder.build(
        nb, sb, wiring, {}, model.Phase.RUNNING, full=True,
        also=frozenset(map(str, nb['Logical_Router']))))


def floating(address, nb):
    """The NAT rows of a floating IP that name a machine's port, a list.

    :param address: IP address in canonical notation
    :param nb: rows of NB, see :mod:`readers.northbound`
    """
    return [row for row in nb.get('NAT', {}).values()
            if row.external_ip == address and
            columns.optional(row, 'logical_port')]


def _place_in(address, router, sources):
    """(kind, NAT row or None, gateway port or None) of an address."""
    port = next((port for port in router.ports for text in port.networks
                 if str(networks.parse_interface(text).ip) == address), None)
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


def _claim(nb, sb, router, kind, nat, port):
    """The :class:`claims.Claim` of one router."""
    owner = hostname(sb, port.chassis) if port else ''
    if nat is None:
        return claims.Claim(kind.value, router.both_names, router.name,
                            owner=owner)
    names = [columns.optional(each, 'logical_port')
             for each in _rows_of(router, nb)
             if (each.type, each.external_ip, each.logical_ip) == (
                 nat.type, nat.external_ip, nat.logical_ip)]
    return claims.Claim(kind.value, router.both_names, router.name, nat.type,
                        nat.logical_ip, next(filter(None, names), ''), owner)


def _rows_of(router, nb):
    """The NAT rows of a router."""
    row = next((each for key, each in nb['Logical_Router'].items()
                if str(key) == router.uuid), None)
    return row.nat if row else ()


def _machine(address, router, nb, sb):
    """The :class:`subject.Machine` of an address of a router, or None."""
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


def hostname(sb, chassis):
    """The host name of a chassis, its name if it is gone."""
    return directory.hostnames(sb).get(chassis) or chassis

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The address of a machine, and what has to exist for it here.  Pure."""

import collections
import dataclasses

from ovn_network_agent import model
from ovn_network_agent.diagnosis.address import needs
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.ovsdb import columns


def make(address, builder, nb, sb, wiring, drivers, names, pairs):
    """Find which ports have an address, and what has to exist for it here.

    An address has one machine outside of VNIs, and one in each VNI.

    :param address: IP address in canonical notation
    :param builder: new :class:`ovn.snapshot.Builder` with machines
    :param nb: rows of NB, see :mod:`readers.northbound`
    :param sb: rows of SB, see :mod:`readers.southbound`
    :param wiring: :class:`model.wiring.Wiring`
    :param drivers: list of :class:`drivers.base.Driver`
    :param names: logical ports with the address, not empty
    :param pairs: [provider_port] allowed_address_pairs
    :returns: list of :class:`subject.Subject`, by VNI
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
    return [_subject(address, builder, seen.node, drivers, here, bound)
            for _vni, bound in sorted(places.items())]


def _subject(address, builder, node, drivers, here, bound):
    """The :class:`subject.Subject` of one place.

    :param here: dict of port to :class:`model.PortAddress`
    :param bound: list of :class:`ports.Port`, not empty
    """
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
        if first.here and first.up and first.left_out is None and (
                first.type == '' or first.parent):
            about = dataclasses.replace(about, binding=first.not_chosen(
                builder.chosen.machines.without_vni))
        return about
    return needs.wanting(
        dataclasses.replace(about, found=found, withheld=found.withheld),
        drivers, found.network.uuid, node, found.network, found)

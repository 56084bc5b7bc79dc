# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The address of a machine, and what has to exist for it here.  Pure."""

import collections
from collections.abc import Collection
from collections.abc import Sequence
import dataclasses

from ovn_network_agent import model
from ovn_network_agent.diagnosis.address import needs
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.drivers import base
from ovn_network_agent.model import wiring as wirings
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.ovsdb import columns


def make(address: str, builder: snapshot.Builder, nb: columns.Tables,
         sb: columns.Tables, wiring: wirings.Wiring,
         drivers: Sequence[base.Driver], names: Collection[str], pairs: bool
         ) -> list[subjects.Subject]:
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
    return [_subject(address, builder, seen.node, drivers, here, bound)
            for _vni, bound in sorted(places.items())]


def _subject(address: str, builder: snapshot.Builder, node: model.Node,
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
            about = dataclasses.replace(about, binding=first.not_chosen(
                chosen is not None and chosen.without_vni))
        return about
    return needs.wanting(
        dataclasses.replace(about, found=found, withheld=found.withheld),
        drivers, found.network.uuid, node, found.network, found)

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses of OVN that this node announces, or would as the owner."""

from ovn_network_agent import iptext
from ovn_network_agent import networks


def addresses(snapshot, external, machines=(), version=4):
    """The addresses of the underlay that other programs must not keep back.

    Pure.

    The gateway group of a router need not have its port here: a standby must
    be able to take over.

    :param snapshot: :class:`model.Snapshot`
    :param external: iterable of text: the external addresses of all NAT rows
    :param machines: iterable of text: the announced addresses of machines
    :param version: 4 or 6
    :returns: tuple of IP addresses, sorted
    """
    ports = [networks.parse_interface(text) for group in snapshot.groups
             for port in group.ports if not port.vni
             for text in port.networks]
    ports = [port for port in ports if port and port.version == version]
    floating = [each.address for known in snapshot.addresses.values()
                for each in known.values()
                if 'fip' in each.kinds and not each.port.vni]
    known = {port.network for port in ports}
    here = {each for each in map(_address, machines)
            if each.version == version}
    return tuple(sorted({port.ip for port in ports} | here | {
        address for address in map(_address, (*external, *floating))
        if address and any(address in network for network in known)}))


def _address(text):
    """An address, or None for a text of OVN that is none."""
    try:
        return iptext.address(text)
    except ValueError:
        # Another check names such a row.
        return None

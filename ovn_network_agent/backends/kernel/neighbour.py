# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends neighbour and neighbour_proxy: permanent entries, and proxies.

On the ends of the veth pair; on provider bridges, for floating IPs while OVN
does not answer for them; and in the VRFs of VNIs, for machines. NDA_PROTOCOL
marks the agent's. An operator's entry for a wanted address is as good if it
has the wanted MAC, and is never touched.
"""

from collections.abc import Mapping
import socket

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.common import notices
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import neighbours
from ovn_network_agent.privileged.network import neighbour_proxies
from ovn_network_agent.privileged.network import netlink


class NeighbourBackend(base.KernelBackend):
    """Permanent neighbour entries of the agent."""

    name = 'neighbour'
    kinds = (resources.Neighbour,)
    # The kernel removes neighbours with the last IPv4 address of a device.
    doubted_by = (notices.kernel('link'), notices.kernel('address'),
                  notices.kernel('neighbour'))

    def read(self, known: base.Known) -> list[resources.Neighbour]:
        """Read the marked entries, and those for wanted addresses.

        :param known: without the mark, an entry counts only by their (device,
            address)
        :returns: a MAC of another device of this node is the name of that
            device
        :raises base.BackendError: when the kernel does not answer
        """
        keys = {ref.key for ref in known
                if ref.kind == resources.Neighbour.kind}
        found = calls.reading('devices', links.read_all)
        names = {link.index: name for name, link in found.items()}
        return [
            _resource(found, names[entry.index], entry)
            for entry in calls.reading('neighbours',
                                       neighbours.read_permanent)
            if entry.index in names and (
                entry.protocol == ownership.NEIGHBOUR_PROTOCOL or
                (names[entry.index], entry.dst) in keys)]

    def apply(self, delta: base.Delta) -> base.Failures:
        """Set and delete entries.

        An entry with the MAC address of a device fails while there is no such
        device.
        """
        failed = {}
        if delta.create or delta.update:
            failed = self._write(
                resources.of_kind(resources.Neighbour, delta.wanted))
        failed.update(calls.refused(
            netlink.delete_neighbours, delta.delete,
            [list(r.key) for r in delta.delete]))
        return failed

    def _write(self, wanted: list[resources.Neighbour]) -> base.Failures:
        found = calls.reading('devices', links.read_all) if any(
            r.lladdr_of for r in wanted) else {}
        failed = {}
        ready = []
        for resource in wanted:
            if resource.lladdr:
                ready.append((resource, resource.lladdr))
                continue
            link = found.get(resource.lladdr_of)
            if link is None or not link.mac:
                failed[resource.ref] = (
                    f'device {resource.lladdr_of}, whose MAC address it '
                    f'needs, does not exist or has none')
            else:
                ready.append((resource, link.mac))
        failed.update(calls.refused(
            netlink.set_neighbours, [r for r, _mac in ready],
            [[r.dev, r.dst, mac] for r, mac in ready]))
        return failed


def _resource(found: Mapping[str, links.Link], dev: str,
              entry: neighbours.Neighbour) -> resources.Neighbour:
    """A MAC of a device of this node is shown by the device's name.

    Not in the VRF of a VNI, where the neighbours are machines.
    """
    owner = '' if evpn_names.is_vrf_end(dev) else _lladdr_of(
        found, dev, entry.mac)
    return resources.Neighbour(dev, entry.dst, owner,
                               None if owner else entry.mac)


def _lladdr_of(found: Mapping[str, links.Link], dev: str, mac: str) -> str:
    """The device that has a MAC, the other end of a veth first; '' for none.
    """
    owners = sorted(
        (link.index != found[dev].lower, name)
        for name, link in found.items() if link.mac == mac and name != dev)
    return owners[0][1] if owners else ''


class NeighbourProxyBackend(base.KernelBackend):
    """Addresses that the kernel answers NDP for.

    NDA_PROTOCOL, which the kernel keeps from 5.0 on, marks the agent's. The
    kernel drops all entries of a device that goes down or loses IPv6, and says
    nothing about entries at all.
    """

    name = 'neighbour_proxy'
    kinds = (resources.NeighbourProxy,)
    # Without IPv6, a device loses its addresses, too.
    doubted_by = (notices.kernel('link'), notices.kernel('address'))
    uses_known = False

    def read(self, known: base.Known) -> list[resources.NeighbourProxy]:
        """Read the marked entries.

        :raises base.BackendError: when the kernel does not answer
        """
        found = [entry for entry in calls.reading(
            'neighbour proxies', neighbours.read_all_proxies, socket.AF_INET6)
            if entry.protocol == ownership.NEIGHBOUR_PROTOCOL]
        if not found:
            return []
        names = {link.index: name for name, link in calls.reading(
            'devices', links.read_all).items()}
        return [resources.NeighbourProxy(names[entry.index], entry.dst)
                for entry in found if entry.index in names]

    def apply(self, delta: base.Delta) -> base.Failures:
        """Make and delete entries, see :meth:`base.Backend.apply`."""
        wanted, unwanted = delta.wanted, delta.delete
        return {
            **calls.refused(neighbour_proxies.set_proxies, wanted,
                            [list(r.key) for r in wanted]),
            **calls.refused(neighbour_proxies.delete_proxies, unwanted,
                            [list(r.key) for r in unwanted])}

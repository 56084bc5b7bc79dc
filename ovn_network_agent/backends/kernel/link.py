# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends link and sysctl: devices, and their settings.

The bridges and the VRF are the operator's, so they are only checked. A VLAN
device of the agent has its alias; one of another program is adopted only if it
is the right VLAN of the right bridge, and is never deleted.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.common import bridges
from ovn_network_agent.common import notices
from ovn_network_agent.common import wording
from ovn_network_agent.conf import mode
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import procfs
from ovn_network_agent.privileged.network import links as privileged
from ovn_network_agent.privileged.network import netlink


class LinkBackend(base.KernelBackend):
    """Devices: provider bridges are up, veth pair and VLANs exist."""

    name = 'link'
    kinds = (resources.LinkUp, resources.VethPair, resources.VlanDevice)
    doubted_by = (notices.kernel('link'),)
    # A change of a device may remove the objects on this device.
    invalidates = ('sysctl', 'address', 'neighbour', 'neighbour_proxy',
                   'route', 'rule')

    def check(self) -> list[str]:
        """The configured provider bridge and VRF have to exist."""
        try:
            found = links.read_all()
        except OSError as error:
            return [f'network devices cannot be read: '
                    f'{wording.error(error)}; the agent '
                    f'needs Linux 4.20 or newer']
        return [*needed_bridge(self.conf, found),
                *needed_vrf(self.conf, found)]

    def read(self, known: base.Known) -> list[resources.Resource]:
        """Read the wanted devices that are up, and the veth pair.

        :param known: a pair without the mark of the agent counts only if the
            pair is among them
        :raises base.BackendError: when the kernel does not answer
        """
        found = calls.reading('devices', links.read_all)
        present: list[resources.Resource] = [
            resources.LinkUp(name) for name, link in found.items()
                   if link.up and
                   resources.Ref(resources.LinkUp.kind, (name,)) in known]
        name, peer = ownership.VETH_DEFAULT, ownership.VETH_PROVIDER
        if links.peers(found, name, peer) and (
                _is_marked(found, name, peer) or
                resources.Ref(resources.VethPair.kind, (name,)) in known):
            present.append(resources.VethPair(
                name, peer, _vrf(found, found[name], found[peer])))
        return [*present, *_vlans(found, known)]

    def apply(self, delta: base.Delta) -> base.Failures:
        """Set devices up, never down; make or delete the pair and VLANs."""
        up = resources.of_kind(resources.LinkUp, delta.wanted)
        pairs, removed = (resources.of_kind(resources.VethPair, some)
                          for some in (delta.wanted, delta.delete))
        tagged, untagged = (resources.of_kind(resources.VlanDevice, some)
                            for some in (delta.wanted, delta.delete))
        return {
            **calls.refused(privileged.set_links_up, up,
                            [r.dev for r in up]),
            **calls.refused(privileged.set_veth_pairs, pairs,
                            [[r.name, r.peer, r.vrf] for r in pairs]),
            **calls.refused(privileged.delete_veth_pairs, removed,
                            [[r.name, r.peer] for r in removed]),
            # A VLAN device can only be up when its bridge is.
            **calls.refused(privileged.set_vlans, tagged,
                            [[r.name, r.bridge, r.vlan]
                             for r in tagged]),
            **calls.refused(privileged.delete_vlans, untagged,
                            [r.name for r in untagged])}


def _vlans(found: dict[str, links.Link], known: base.Known
           ) -> Iterator[resources.VlanDevice]:
    """The VLAN devices of the agent, and the right ones that it adopted."""
    for name, link in found.items():
        bridge = links.lower(found, link)
        if link.kind != 'vlan':
            continue
        wanted = resources.Ref(resources.VlanDevice.kind, (name,)) in known
        if link.alias == ownership.LINK_ALIAS or wanted and (
                name == bridges.segment_device(bridge, link.vlan)):
            yield resources.VlanDevice(name, bridge if link.up else '',
                                       link.vlan)


def _is_marked(found: dict[str, links.Link], *ends: str) -> bool:
    """Whether an agent made the pair; an adopted pair has no mark."""
    return any(found[end].alias == ownership.LINK_ALIAS for end in ends)


def _vrf(found: dict[str, links.Link], end: links.Link, peer: links.Link
         ) -> str:
    """Name of the VRF of a pair, '' while the pair needs an update."""
    if not end.up or not peer.up or end.master:
        return ''
    return next((name for name, link in found.items()
                 if link.kind == 'vrf' and link.index == peer.master), '')


def needed_bridge(conf: Any, found: Mapping[str, links.Link]) -> Iterator[str]:
    """Messages about the provider bridges that are missing."""
    if mode.forwards_only(conf):
        return
    for name in bridges.served(conf):
        option = ('bridge_dev' if name == conf.bridge_dev
                  else 'further_bridges')
        if name not in found:
            yield (f'[DEFAULT] {option} = {name}: there is no such '
                   f'device; create the provider bridge in Open vSwitch '
                   f'(ovs-vsctl add-br {name}) or name the right one')


def needed_vrf(conf: Any, found: Mapping[str, links.Link]) -> Iterator[str]:
    """Messages about what is missing or wrong of the VRF."""
    name = conf.frr.vrf_name
    if not name:
        return
    link = found.get(name)
    if link is None:
        yield (f'[frr] vrf_name = {name}: there is no such device; create '
               f'the VRF (ip link add {name} type vrf table ID; ip link '
               f'set {name} up), or set it to nothing to announce from '
               f'the default VRF')
    elif link.kind != 'vrf':
        yield (f'[frr] vrf_name = {name}: this device is no VRF but '
               f'"{link.kind or "hardware"}"; name the VRF of the uplink')
    else:
        yield from _tables(conf, name, link.vrf_table)


def _tables(conf: Any, name: str, table: int) -> Iterator[str]:
    """The agent's routes in the table of the VRF would make a loop."""
    options = [('[fip_route] route_table_id', conf.fip_route.route_table_id)]
    if veth_leak.enabled(conf):
        options.append(('[veth_leak] veth_leak_table_id',
                        conf.veth_leak.veth_leak_table_id))
    for option, number in options:
        if number == table:
            yield (f'{option} = {number}: this is the table of VRF '
                   f'{name}; choose another one between 1 and 252')


class SysctlBackend(base.KernelBackend):
    """Kernel settings that the agent sets and never restores."""

    name = 'sysctl'
    kinds = (resources.Sysctl,)
    finds_wanted_only = True
    doubted_by = (notices.kernel('link'), notices.kernel('sysctl'))

    def read(self, known: base.Known) -> list[resources.Sysctl]:
        """Read the wanted values that exist; no value has a mark.

        :raises base.BackendError: when an existing value cannot be read
        """
        present = []
        for ref in known:
            if ref.kind == resources.Sysctl.kind:
                path = str(ref.key[0])
                try:
                    value = procfs.sysctl(path)
                except OSError as error:
                    raise base.BackendError(
                        f'sysctl {path}: {wording.error(error)}') from error
                if value is not None:
                    present.append(resources.Sysctl(path, value))
        return present

    def apply(self, delta: base.Delta) -> base.Failures:
        """Set values; see :meth:`base.Backend.apply`."""
        wanted = resources.of_kind(resources.Sysctl, delta.wanted)
        return calls.refused(netlink.set_sysctls, wanted,
                             [[r.path, r.value] for r in wanted])

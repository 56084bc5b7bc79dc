# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Backend link: the provider bridge is up, and the veth pair exists.

All other objects in the kernel depend on these devices.  The bridge and the
VRF belong to the operator, so this backend checks that they exist.
"""

from ovn_network_agent import notices
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import kernel
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import veth_leak
from ovn_network_agent.netlink import links
from ovn_network_agent.privileged import links as privileged


class LinkBackend(kernel.KernelBackend):
    """Devices: the provider bridge is up, the veth pair exists."""

    name = 'link'
    kinds = (resources.LinkUp, resources.VethPair)
    doubted_by = (notices.kernel('link'),)
    # A change of a device may remove the objects on this device.
    invalidates = ('sysctl', 'address', 'neighbour', 'route', 'rule')

    def check(self):
        try:
            found = links.read_all()
        except OSError as error:
            return [f'network devices cannot be read: {error}; the agent '
                    f'needs Linux 4.20 or newer']
        return [*self._check_bridge(found), *self._check_vrf(found)]

    def _check_bridge(self, found):
        bridge = self.conf.bridge_dev
        if mode.forwards_only(self.conf):
            return
        if bridge not in found:
            yield (f'[DEFAULT] bridge_dev = {bridge}: there is no such '
                   f'device; create the provider bridge in Open vSwitch '
                   f'(ovs-vsctl add-br {bridge}) or name the right one')

    def _check_vrf(self, found):
        vrf = self.conf.frr.vrf_name
        if not vrf:
            return
        link = found.get(vrf)
        if link is None:
            yield (f'[frr] vrf_name = {vrf}: there is no such device; create '
                   f'the VRF (ip link add {vrf} type vrf table ID; ip link '
                   f'set {vrf} up), or set it to nothing to announce from '
                   f'the default VRF')
        elif link.kind != 'vrf':
            yield (f'[frr] vrf_name = {vrf}: this device is no VRF but '
                   f'"{link.kind or "hardware"}"; name the VRF of the uplink')
        else:
            yield from self._check_table(vrf, link.vrf_table)

    def _check_table(self, vrf, table):
        """The agent's routes in the table of the VRF would make a loop."""
        options = [('[fip_route] route_table_id',
                    self.conf.fip_route.route_table_id)]
        if veth_leak.enabled(self.conf):
            options.append(('[veth_leak] veth_leak_table_id',
                            self.conf.veth_leak.veth_leak_table_id))
        for option, number in options:
            if number == table:
                yield (f'{option} = {number}: this is the table of VRF '
                       f'{vrf}; choose another one between 1 and 252')

    def read(self, known):
        found = kernel.reading('devices', links.read_all)
        present = [resources.LinkUp(name) for name, link in found.items()
                   if link.up and
                   resources.Ref(resources.LinkUp.kind, (name,)) in known]
        name, peer = ownership.VETH_DEFAULT, ownership.VETH_PROVIDER
        if links.peers(found, name, peer) and (
                _is_marked(found, name, peer) or
                resources.Ref(resources.VethPair.kind, (name,)) in known):
            present.append(resources.VethPair(
                name, peer, _vrf(found, found[name], found[peer])))
        return present

    def apply(self, delta):
        up = [r for r in kernel.wanted(delta)
              if isinstance(r, resources.LinkUp)]
        pairs = [r for r in kernel.wanted(delta)
                 if isinstance(r, resources.VethPair)]
        gone = [r for r in delta.delete if isinstance(r, resources.VethPair)]
        return {
            **kernel.refused(privileged.set_links_up, up,
                             [r.dev for r in up]),
            **kernel.refused(privileged.set_veth_pairs, pairs,
                             [[r.name, r.peer, r.vrf] for r in pairs]),
            **kernel.refused(privileged.delete_veth_pairs, gone,
                             [[r.name, r.peer] for r in gone])}


def _is_marked(found, *ends):
    """Whether an agent made the pair; an adopted pair has no mark."""
    return any(found[end].alias == ownership.LINK_ALIAS for end in ends)


def _vrf(found, end, peer):
    """Name of the VRF of a pair, '' while the pair needs an update."""
    if not end.up or not peer.up or end.master:
        return ''
    return next((name for name, link in found.items()
                 if link.kind == 'vrf' and link.index == peer.master), '')

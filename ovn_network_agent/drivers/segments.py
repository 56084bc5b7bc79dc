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

"""Provider segments on this node: which can be used, and their devices.

Pure.
"""

from ovn_network_agent import resources


def objection(segment, bridges):
    """The reason why a provider segment cannot be used on this node.

    :param segment: :class:`model.Segment`, or None
    :param bridges: names of the bridges that the agent serves
    :returns: text, '' when it can be used
    """
    if segment is None:
        return 'its network has no localnet port in SB'
    if not segment.bridge:
        return (f'physical network {segment.physical_network} is not in '
                'ovn-bridge-mappings of this node')
    if segment.vlan:
        return (f'its network is VLAN {segment.vlan:d} on {segment.bridge}; '
                'only flat networks are handled')
    if segment.bridge not in bridges:
        return (f'physical network {segment.physical_network} is mapped to '
                f'{segment.bridge}, and [DEFAULT] bridge_dev is '
                f'{bridges[0]}')
    if not segment.mac:
        return f'device {segment.device} does not exist'
    if not segment.patch_port:
        return (f'{segment.bridge} has no patch port for '
                f'{segment.localnet_port} (is ovn-controller running?)')
    return ''


def located(segment, bridges):
    """Whether the device of a segment on this node is known, and served.

    The device may be missing, and so may the patch port.

    :param segment: :class:`model.Segment`, or None
    :param bridges: names of the bridges that the agent serves
    """
    return (segment is not None and segment.bridge in bridges and
            not segment.vlan)


def attachment(dev, bridge_ip):
    """The resources with which a device of a segment answers for OVN.

    :param dev: name of the device
    :param bridge_ip: address of the device, '' for none
    :returns: iterable of :class:`resources.Resource`
    """
    if bridge_ip:
        # The kernel needs an address there to ask for a floating IP's
        # MAC; the address itself is never used as a source outside.
        yield resources.Address(dev, bridge_ip + '/32')
    path = f'net/ipv4/conf/{dev}/'
    # OVN asks for floating IPs of other chassis here.
    yield resources.Sysctl(path + 'proxy_arp', '1')
    yield resources.Sysctl(path + 'forwarding', '1')
    # Proxied answers are delayed by up to 0.8 s by default, which is
    # what the first packet between chassis would wait for (arp(7)).
    yield resources.Sysctl(f'net/ipv4/neigh/{dev}/proxy_delay', '0')

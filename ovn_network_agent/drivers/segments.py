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

"""The provider segments that packets can pass.  Pure."""


def objection(segment, bridge_dev):
    """The reason why a provider segment cannot be used on this node.

    :param segment: :class:`model.Segment`, or None
    :param bridge_dev: name of the provider bridge
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
    if segment.bridge != bridge_dev:
        return (f'physical network {segment.physical_network} is mapped to '
                f'{segment.bridge}, and [DEFAULT] bridge_dev is {bridge_dev}')
    if not segment.mac:
        return f'device {segment.device} does not exist'
    if not segment.patch_port:
        return (f'{segment.bridge} has no patch port for '
                f'{segment.localnet_port} (is ovn-controller running?)')
    return ''

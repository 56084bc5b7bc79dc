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
"""What of a snapshot cannot be handled, in words for the operator.

Pure.  Drivers leave such things alone and say nothing, because they do no
I/O; this is where they surface in the log and in the status.
"""


# So many groups are named in one message.
_NAMED = 5


def of(snapshot, bridge_dev, drivers):
    """Everything that is left out and why.

    :param snapshot: :class:`model.Snapshot`
    :param bridge_dev: name of the provider bridge
    :param drivers: names of those that are loaded
    :returns: tuple of str, sorted
    """
    found = set(snapshot.problems)
    if 'gateway_drain' not in drivers:
        found.update(_left_drained(snapshot))
    for router in snapshot.routers:
        found.update('router %s: %s' % (router.name, problem)
                     for problem in router.problems)
        for port in router.local_ports:
            reason = _segment(port.segment, bridge_dev)
            if reason:
                found.add('router %s, port %s: %s; its addresses stay as '
                          'they are' % (router.name, port.lrp, reason))
    return tuple(sorted(found))


def _left_drained(snapshot):
    """What an agent with gateway_drain did or was told, and nobody undoes.

    :returns: iterable of str
    """
    if snapshot.node.drains:
        yield ('a drain of this node is asked for (ovn-network-agent-ctl), '
               'and without the driver gateway_drain nothing comes of it')
    lowered = sorted(
        group.name for group in snapshot.groups
        if group.candidate(snapshot.node.chassis).drained)
    if lowered:
        yield ('this chassis has priority 0 in %d gateway groups (%s), as '
               'its agent drained them, and without the driver '
               'gateway_drain it stays so; add that to [DEFAULT] drivers, '
               'or set the priorities (ovn-nbctl)' % (
                   len(lowered), ', '.join(lowered[:_NAMED])))


def _segment(segment, bridge_dev):
    """Why a provider segment cannot be used, '' when it can."""
    if segment is None:
        return 'its network has no localnet port in SB'
    if not segment.bridge:
        return ('physical network %s is not in ovn-bridge-mappings of this '
                'node' % segment.physical_network)
    if segment.vlan:
        return ('its network is VLAN %d on %s; only flat networks are '
                'handled' % (segment.vlan, segment.bridge))
    if segment.bridge != bridge_dev:
        return ('physical network %s is mapped to %s, and [DEFAULT] '
                'bridge_dev is %s' % (segment.physical_network,
                                      segment.bridge, bridge_dev))
    if not segment.mac:
        return 'device %s does not exist' % segment.device
    if not segment.patch_port:
        return ('%s has no patch port for %s (is ovn-controller running?)'
                % (segment.bridge, segment.localnet_port))
    return ''

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

"""The provider segments that gateway ports are on.  Pure."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns


@dataclasses.dataclass(frozen=True, slots=True)
class Located:
    """The place where a gateway port meets the provider network.

    :ivar segment: :class:`model.Segment`, or None while it is unknown
    :ivar nat_addresses: tuple of IPv4 text from SB nat_addresses
    :ivar depends: UUIDs of the Port_Binding rows that this was read from
    """

    segment: model.Segment | None = None
    nat_addresses: tuple = ()
    depends: tuple = ()


class Segments:
    """Finds the segments of gateway ports.

    A result depends on the rows in ``Located.depends``, on the wiring, and
    on every localnet port.

    :param find: function(database, table, name) that returns the
        :class:`index.Index` of that name
    """

    def __init__(self, find):
        self._find = find

    def locate(self, bindings, wire, lrp):
        """Find the segment of a gateway port.

        The patch port of the switch names the router port as its peer.  The
        localnet port is on the datapath of this patch port.

        :param bindings: dict of UUID to row of Port_Binding
        :param wire: :class:`ovs.wiring.Wire`
        :param lrp: name of the Logical_Router_Port
        :returns: :class:`Located`
        """
        patch = self._find('sb', 'Port_Binding', 'peer').first(lrp)
        if patch is None:
            return Located()
        datapath = bindings[patch].datapath.uuid
        addresses = rows.nat_addresses(bindings[patch])
        localnet = self._localnet(bindings, wire, datapath)
        if localnet is None:
            return Located(None, addresses, (patch,))
        row = bindings[localnet]
        segment = wire.segment(
            str(datapath), row.logical_port,
            row.options.get('network_name', ''),
            columns.optional(row, 'tag', 0))
        return Located(segment, addresses, (patch, localnet))

    def _localnet(self, bindings, wire, datapath):
        """UUID of the localnet port of a switch, or None.

        A network of several segments has a localnet port for each segment.
        The localnet port of a physical network of this node comes first.
        """
        here = dict(wire.mappings)
        found = self._find('sb', 'Port_Binding', 'localnet').find(datapath)
        return min(found, default=None, key=lambda uuid: (
            bindings[uuid].options.get('network_name', '') not in here,
            uuid))

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


"""Relays: tunnel ports of ours in the local Open_vSwitch database.

Pure.  A relay is part of a bridge whose other ports are switched: what is
broadcast there must not go through the tunnel, or two gateways, and the
network between them, make a loop.  And it must not even while the agent is
down, so it is the configuration of the port that sees to it, and no flow.

The port is a trunk of one VLAN, 4095, which IEEE 802.1Q reserves: neither
the kernel nor Neutron has a device or a segment with it.  So the action
NORMAL, for which alone VLANs count, neither sends to the port nor takes
anything that comes from it, nor learns an address there.  Should somebody
forge a packet with that tag, ``protected`` keeps it from going on to a
further relay.  A flow that names the port as its output is not concerned.
"""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.ovsdb import columns

MARK = {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE}
ENCAPS = ('geneve', 'vxlan')
_SEALED_VLAN = 4095
PORT_SETTINGS = {
    'vlan_mode': ['trunk'],
    'trunks': [_SEALED_VLAN],
    'protected': True,
    # With a spanning tree on the bridge the relay would be part of it.
    'other_config': {'stp-enable': 'false', 'rstp-enable': 'false'},
}


def interface_settings(remote, encap):
    """Columns of the row of Interface, but for its name and marks.

    As OVN's own tunnels, except for the key and for fragments: a packet
    of the provider network and the tunnel's header may be more than the
    tunnels' network takes.  BFD says whether there is another end: not
    every gateway has an agent that makes relays.

    :param remote: IP address of the tunnels of the other chassis
    :param encap: 'geneve' or 'vxlan'
    :returns: dict of column to value
    """
    return {'type': encap, 'bfd': {'enable': 'true'}, 'options': {
        'remote_ip': remote, 'key': str(ownership.RELAY_KEY),
        'csum': 'true', 'df_default': 'false'}}


def is_ours(port):
    """Whether a row of Port is a relay of ours: its name and its mark."""
    return (port.name.startswith(ownership.RELAY_PREFIX) and
            ownership.is_managed(port.external_ids))


def ports(ovs):
    """The relays that are there.

    :param ovs: dict of table name to dict of UUID to row
    :returns: iterable of :class:`resources.RelayPort`; ``encap`` is '' for
        one that is not as it should be, or that Open vSwitch has not made
    """
    for bridge, port, interface in _found(ovs):
        options = interface.options if interface else {}
        remote = options.get('remote_ip', '')
        encap = interface.type if interface else ''
        complete = (interface is not None and encap in ENCAPS and
                    ofport(interface) > 0 and as_set(port, PORT_SETTINGS) and
                    as_set(interface, interface_settings(remote, encap)))
        yield resources.RelayPort(bridge, port.name, remote,
                                  encap if complete else '')


def usable(ovs):
    """The relays that a flow can name.

    :param ovs: as in :func:`ports`
    :returns: iterable of :class:`model.Relay`
    """
    for bridge, _port, interface in _found(ovs):
        if interface is not None and ofport(interface) > 0:
            status = getattr(interface, 'bfd_status', {})
            yield model.Relay(bridge, interface.options.get('remote_ip', ''),
                              ofport(interface),
                              status.get('state') == 'up')


def errors(ovs):
    """What Open vSwitch could not make.

    :param ovs: as in :func:`ports`
    :returns: dict of key of :class:`resources.RelayPort` to text
    """
    return {(bridge, port.name): columns.optional(
        interface, 'error', 'ovs-vswitchd could not make the port')
        for bridge, port, interface in _found(ovs)
        if interface is not None and ofport(interface) < 0}


def ofport(interface):
    """OpenFlow port number; -1 when it failed, 0 when it is not there yet."""
    return columns.optional(interface, 'ofport', 0)


def as_set(row, settings):
    """Whether columns of a row have these values.

    :param settings: dict of column to value
    """
    return all(getattr(row, column) == value
               for column, value in settings.items())


def _found(ovs):
    """(name of the bridge, row of Port, row of Interface or None)."""
    for bridge in ovs['Bridge'].values():
        for port in bridge.ports:
            if is_ours(port):
                interfaces = port.interfaces
                yield bridge.name, port, (
                    interfaces[0] if len(interfaces) == 1 else None)

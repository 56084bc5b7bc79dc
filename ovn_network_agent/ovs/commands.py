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


"""Idempotent changes of the local Open_vSwitch database."""

from ovn_network_agent.ovs import relay
from ovn_network_agent.ovsdb import command


class RelayCommand(command.Command):
    """Base of the commands for relays; finds the rows.

    :param port: :class:`resources.RelayPort`
    """

    def __init__(self, api, port):
        super().__init__(api)
        self.port = port

    def bridge(self):
        """The row of the relay's bridge, or None."""
        return self._named('Bridge', self.port.bridge)

    def present(self):
        """The Port row with the relay's name, on any bridge, or None."""
        return self._named('Port', self.port.name)

    def _named(self, table, name):
        return next((row for row in self.rows(table).values()
                     if row.name == name), None)


class SetRelayPort(RelayCommand):
    """Make the port of a relay, or correct its settings.

    The command refuses to change a port without the agent's mark.
    """

    def run_idl(self, txn):
        """Make the port, or write the settings that differ.

        Refused for an unknown type of tunnel, without the bridge, for a port
        of somebody else, and while another bridge has the port.

        :param txn: see :class:`ovsdb.command.Command`
        """
        bridge, port = self.bridge(), self.present()
        self.refused = self._objection(bridge, port)
        if self.refused:
            return
        if port is None:
            port = txn.insert(self.api.idl.tables['Port'])
            port.name = self.port.name
            port.external_ids = dict(relay.MARK)
            bridge.addvalue('ports', port.uuid)
        else:
            command.verify(txn, port, 'external_ids')
        _set(port, relay.PORT_SETTINGS)
        self._set_interface(txn, port)

    def _objection(self, bridge, port):
        if self.port.encap not in relay.ENCAPS:
            return ('a relay has tunnels of type '
                    f'{" or ".join(relay.ENCAPS)}, and not of type '
                    f'{self.port.encap!r}')
        if bridge is None:
            return f'there is no bridge {self.port.bridge}'
        if port is None:
            return ''
        if not relay.is_ours(port):
            return (f'a port {port.name} is there which is not ours; remove '
                    'it (ovs-vsctl del-port)')
        if port not in bridge.ports:
            return 'another bridge still has its port'
        return ''

    def _set_interface(self, txn, port):
        interfaces = getattr(port, 'interfaces', ())
        if len(interfaces) == 1 and relay.ofport(interfaces[0]) >= 0:
            interface = interfaces[0]
        else:
            # ovs-vswitchd tries again to make an interface only after some
            # change of the database; a new row is one.  The server removes
            # interfaces that no port refers to any more.
            interface = txn.insert(self.api.idl.tables['Interface'])
            interface.name = self.port.name
            interface.external_ids = dict(relay.MARK)
            port.interfaces = [interface.uuid]
        _set(interface, relay.interface_settings(
            self.port.remote, self.port.encap, self.port.tunnel))


class RemoveRelayPort(RelayCommand):
    """Remove the port of a relay if it still has the agent's mark."""

    def run_idl(self, txn):
        """Delete the port and its interfaces from its bridge.

        :param txn: see :class:`ovsdb.command.Command`
        """
        bridge, port = self.bridge(), self.present()
        if (bridge is None or port is None or port not in bridge.ports or
                not relay.is_ours(port)):
            return
        port.verify('external_ids')
        bridge.delvalue('ports', port)
        for interface in port.interfaces:
            interface.delete()
        port.delete()


def _set(row, settings):
    for column, value in settings.items():
        if getattr(row, column, None) != value:
            setattr(row, column, value)

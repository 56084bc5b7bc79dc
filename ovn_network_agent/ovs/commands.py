# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Idempotent changes of the local Open_vSwitch database."""

from collections.abc import Mapping
from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.model import evpn_names
from ovn_network_agent.ovs import bridge_ports
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import command

_Columns = Mapping[str, Any]


class PortCommand(command.Command):
    """Base of the commands for the agent's ports; finds the rows."""

    def __init__(self, api: Any, port: resources.RelayPort | resources.VniPort
                 ) -> None:
        super().__init__(api)
        # More exactly as a subclass says.
        self.port: Any = port

    @property
    def name(self) -> str:
        """Name of the port."""
        name: str = self.port.name
        return name

    def is_ours(self, row: columns.Row) -> bool:
        """Whether a Port row with the name is the agent's."""
        raise NotImplementedError

    def present(self) -> columns.Row:
        """The Port row with the name, on any bridge, or None."""
        return self._named('Port', self.name)

    def with_port(self, row: columns.Row) -> columns.Row:
        """The Bridge row that has a port, or None."""
        return next((bridge for bridge in self.rows('Bridge').values()
                     if row in bridge.ports), None)

    def _named(self, table: str, name: str) -> columns.Row:
        return next((row for row in self.rows(table).values()
                     if row.name == name), None)


class SetPort(PortCommand):
    """Make a port, or correct its settings, but none without the mark."""

    def settings(self) -> tuple[_Columns, _Columns]:
        """Columns of Port, and columns of Interface."""
        raise NotImplementedError

    def objection(self) -> str:
        """Why there can be no such port, '' when there can."""
        return ''

    def run_idl(self, txn: Any) -> None:
        """Make the port, or write the settings that differ.

        Refused by :meth:`objection`, without the bridge, for a port of
        somebody else, and while another bridge has the port.
        """
        bridge = self._named('Bridge', self.port.bridge)
        port = self.present()
        self.refused = self.objection() or self._refusal(bridge, port)
        if self.refused:
            return
        if port is None:
            port = txn.insert(self.api.idl.tables['Port'])
            port.name = self.name
            port.external_ids = dict(bridge_ports.MARK)
            bridge.addvalue('ports', port.uuid)
        else:
            command.verify(txn, port, 'external_ids')
        of_port, of_interface = self.settings()
        _set(port, of_port)
        self._set_interface(txn, port, of_interface)

    def _refusal(self, bridge: columns.Row, port: columns.Row) -> str:
        if bridge is None:
            return f'there is no bridge {self.port.bridge}'
        if port is None:
            return ''
        if not self.is_ours(port):
            return (f'a port {port.name} exists which is not ours; remove '
                    'it (ovs-vsctl del-port)')
        if port not in bridge.ports:
            return 'another bridge still has its port'
        return ''

    def _set_interface(self, txn: Any, port: columns.Row,
                       settings: Mapping[str, Any]) -> None:
        interfaces: Any = getattr(port, 'interfaces', ())
        if len(interfaces) == 1 and bridge_ports.ofport(interfaces[0]) >= 0:
            interface = interfaces[0]
        else:
            # ovs-vswitchd tries again to make an interface only after some
            # change of the database; a new row is one. The server removes
            # interfaces without a port.
            interface = txn.insert(self.api.idl.tables['Interface'])
            interface.name = self.name
            interface.external_ids = dict(bridge_ports.MARK)
            port.interfaces = [interface.uuid]
        _set(interface, settings)


class RemovePort(PortCommand):
    """Remove a port if it still has the agent's mark."""

    def run_idl(self, txn: Any) -> None:
        """Delete the port and its interfaces from its bridge."""
        port = self.present()
        bridge = port and self.with_port(port)
        if bridge is None or not self.is_ours(port):
            return
        port.verify('external_ids')
        bridge.delvalue('ports', port)
        for interface in port.interfaces:
            interface.delete()
        port.delete()


class _Relay:
    """A relay."""

    port: resources.RelayPort

    @staticmethod
    def is_ours(row: columns.Row) -> bool:
        return bridge_ports.is_relay(row)


class SetRelayPort(_Relay, SetPort):
    """Make the port of a relay, or correct its settings."""

    def objection(self) -> str:
        """A relay has a known type of tunnel."""
        return '' if self.port.encap in bridge_ports.ENCAPS else (
            f'a relay has tunnels of type {" or ".join(bridge_ports.ENCAPS)}'
            f', and not of type {self.port.encap!r}')

    def settings(self) -> tuple[_Columns, _Columns]:
        """See :meth:`SetPort.settings`."""
        return bridge_ports.RELAY_SETTINGS, bridge_ports.relay_interface(
            self.port.remote, self.port.encap, self.port.tunnel)


class RemoveRelayPort(_Relay, RemovePort):
    """Remove the port of a relay."""

    def with_port(self, row: columns.Row) -> columns.Row:
        """The relay's own bridge; on another one, it is another relay."""
        bridge = super().with_port(row)
        return bridge if bridge and bridge.name == self.port.bridge else None


class _VniPort:
    """The end of a veth pair on a bridge."""

    port: resources.VniPort

    @property
    def name(self) -> str:
        return evpn_names.bridge_end(self.port.name)

    @staticmethod
    def is_ours(row: columns.Row) -> bool:
        return bridge_ports.is_vni_port(row)


class SetVniPort(_VniPort, SetPort):
    """Make the port of a veth pair, or correct it; also its bridge."""

    def run_idl(self, txn: Any) -> None:
        """See :meth:`SetPort.run_idl`."""
        port, bridge = self.present(), self._named('Bridge', self.port.bridge)
        previous = port and self.with_port(port)
        if previous and bridge and previous != bridge and self.is_ours(port):
            previous.delvalue('ports', port)
            bridge.addvalue('ports', port)
        super().run_idl(txn)

    def settings(self) -> tuple[_Columns, _Columns]:
        """See :meth:`SetPort.settings`."""
        return (bridge_ports.vni_settings(self.port.tag),
                bridge_ports.VNI_INTERFACE)


class RemoveVniPort(_VniPort, RemovePort):
    """Remove the port of a veth pair."""


def _set(row: columns.Row, settings: Mapping[str, Any]) -> None:
    for column, value in settings.items():
        if getattr(row, column, None) != value:
            setattr(row, column, value)

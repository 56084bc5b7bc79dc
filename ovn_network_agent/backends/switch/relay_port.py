# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Backend relay_port: tunnel ports between the bridges of gateway nodes.

A port on any bridge is the agent's by its name and mark. One with a wanted
name and no mark is never touched; the relay fails.
"""

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends.northbound import ovsdb_writer
from ovn_network_agent.backends.switch import switch_ports
from ovn_network_agent.common import notices
from ovn_network_agent.ovs import commands
from ovn_network_agent.ovs import relay
from ovn_network_agent.ovsdb import columns

_COMMANDS = {'set': commands.SetRelayPort,
             'remove': commands.RemoveRelayPort}


class RelayPortBackend(switch_ports.SwitchPorts):
    """Tunnel ports that lead to the bridges of other gateways."""

    name = 'relay_port'
    kinds = (resources.RelayPort,)
    doubted_by = (notices.INTERFACES, notices.SWITCH_PORTS)
    revived_by = (notices.connected('ovs'),)

    def read(self, known: base.Known) -> list[resources.RelayPort]:
        """Read the ports with the name and the mark of a relay.

        :raises base.BackendError: when the local database is not connected
        """
        return self.rows(lambda ovs: list(relay.ports(ovs)))

    def command(self, verb: str, resource: resources.RelayPort
                ) -> ovsdb_writer.Make:
        """The command that makes or removes a port."""
        return lambda api: _COMMANDS[verb](api, resource)

    def made_ports(self, ovs: columns.Tables) -> switch_ports.MadePorts:
        """See :meth:`switch_ports.SwitchPorts.made_ports`."""
        return ({port.key for port in relay.ports(ovs) if port.encap},
                relay.errors(ovs))

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver egress_ip: machines leave the cloud with an address that stays.

All agents with the driver want the same rows in OVN NB; the backend lets one
of them write.
"""

from ovn_network_agent import model
from ovn_network_agent.common import notices
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import egress_ip as options
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import egress_host
from ovn_network_agent.drivers.common import egress_rows
from ovn_network_agent.resources import egress_rows as rows

# What the view of the agent does not have.
_READ = (
    ('Logical_Switch', ('ports',)),
    ('Logical_Switch_Port', ('name', 'type', 'addresses', 'dynamic_addresses',
                             'options', 'external_ids')),
    ('Port_Group', ('name', 'ports', 'external_ids')),
    ('DHCP_Options', ('cidr', 'external_ids')),
    ('Logical_Router', ('policies',)))
_WRITTEN = {table: tuple(column for column in (*columns, 'external_ids')
                         if not column.startswith('ovn-network-agent'))
            for table, columns in rows.COLUMNS.items()}


class EgressIpDriver(base.Driver):
    """Wants the rows of egress addresses, and what this node translates."""

    CONFIG_OPTS = options.OPTS
    OTHER_OPTIONS = egress_host.OPTIONS
    SUBJECTS = (model.Node, model.Router, model.GatewayGroup, model.EgressIp,
                model.EgressHost)
    ASKS = (plugins.STATIC_ROUTES, plugins.LINKS, plugins.ABSENCE)

    def events(self) -> tuple[base.Watch, ...]:
        """The columns of NB that machines are found by, and those of rows."""
        return (*(base.Watch('nb', table, columns)
                  for table, columns in _READ),
                *(base.Watch('nb', table, columns, stale=(notices.EGRESS,))
                  for table, columns in _WRITTEN.items()))

    def resources(self, subject: (
            model.Node | model.Router | model.GatewayGroup | model.EgressIp |
            model.EgressHost), node: model.Node) -> base.Wanted:
        """The rows of one egress address, or what one subject needs here."""
        match subject:
            case model.EgressIp():
                chosen = self.settings.egress_ip
                return egress_rows.wanted(
                    subject, node, chosen.cleanup_on_stop,
                    chosen.policy_priority)
            case model.Node():
                return egress_host.of_node(node)
            case model.Router():
                return egress_host.of_gateway(
                    self.settings, subject.served_ports, subject.tenants)
            case model.GatewayGroup():
                return (drop for port in subject.ports
                        for drop in egress_host.of_gateway(
                            self.settings, (port,), port.tenants))
        return egress_host.of_machine(self.settings, subject, node)

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

"""Driver egress_ip: machines leave the cloud with addresses that stay."""

from ovn_network_agent import model
from ovn_network_agent.conf import egress_ip as options
from ovn_network_agent.conf import plugins
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers import egress_host


class EgressIpDriver(base.Driver):
    """Wants the rows of egress addresses, and what this node translates."""

    CONFIG_OPTS = options.OPTS
    OTHER_OPTIONS = egress_host.OPTIONS
    SUBJECTS = (model.Node, model.Router, model.GatewayGroup,
                model.EgressHost)
    ASKS = (plugins.LINKS, plugins.ABSENCE)

    def resources(self, subject: (model.Node | model.Router |
                                  model.GatewayGroup | model.EgressHost),
                  node: model.Node) -> base.Wanted:
        """What one subject needs."""
        match subject:
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

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

"""Driver load_balancer: virtual IPs, and the health of their backends.

Driver fip_route announces virtual IPs on provider networks, and driver
tenant_network those in networks of tenants.
"""

from ovn_network_agent.conf import load_balancer as options
from ovn_network_agent.conf import plugins
from ovn_network_agent.drivers import base


class LoadBalancerDriver(base.Driver):
    """Has virtual IPs in networks of tenants announced, and virtual IPs
    withheld while none of their backends is online.
    """

    CONFIG_OPTS = options.OPTS
    ASKS = (plugins.BACKENDS_OF_VIPS, plugins.VIPS)

    def events(self) -> tuple[base.Watch, ...]:
        """What the view has of health checks for this driver alone."""
        return (
            base.Watch('nb', 'Load_Balancer',
                       ('health_check', 'ip_port_mappings', 'protocol')),
            base.Watch('nb', 'Load_Balancer_Health_Check', ('vip',)),
            base.Watch('sb', 'Service_Monitor',
                       ('ip', 'port', 'protocol', 'logical_port', 'status'),
                       urgent=True))

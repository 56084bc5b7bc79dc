# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver load_balancer: virtual IPs, and the health of their backends.

Driver fip_route announces virtual IPs on provider networks, and driver
tenant_network those in networks of tenants.
"""

from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import tenants as options
from ovn_network_agent.drivers import base


class LoadBalancerDriver(base.Driver):
    """Has VIPs of tenants announced, and VIPs withheld without backends."""

    CONFIG_OPTS = options.BALANCER_OPTS
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

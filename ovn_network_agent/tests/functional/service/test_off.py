# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Drivers for machines, tenants and virtual IPs: what they cost an agent."""

import threading

from ovn_network_agent.drivers import load_balancer
from ovn_network_agent.drivers import provider_port
from ovn_network_agent.drivers import tenant_network
from ovn_network_agent.tests.functional.service import base

MORE = {'provider_port': provider_port.ProviderPortDriver,
        'tenant_network': tenant_network.TenantNetworkDriver,
        'load_balancer': load_balancer.LoadBalancerDriver}


class ThreadsTest(base.TwoRoutersTestCase):

    def threads(self):
        """The number of the threads of an agent at work."""
        before = set(threading.enumerate())
        agent = self.running(drivers=list(self.drivers))
        self.eventually(lambda: agent.status.is_ready, 'ready')
        found = len(set(threading.enumerate()) - before)
        self.stop(agent)
        return found

    def test_no_driver_has_one_of_its_own(self):
        few = self.threads()
        self.assertLess(0, few)
        self.drivers = {**self.drivers, **MORE}
        self.assertEqual(few, self.threads())

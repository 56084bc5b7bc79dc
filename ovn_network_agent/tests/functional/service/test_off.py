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

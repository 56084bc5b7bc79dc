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

"""A node whose real agent announces nothing, so that no FRR is needed."""

import os

from ovn_network_agent.tests.functional.cmd import node
from ovn_network_agent.tests.functional.control import base
from ovn_network_agent.tests.functional.ovn import cloud

CONFIG = '''[frr]
vrf_name =
frr_prefix_list =
[gateway_drain]
relay = false
drain_on_shutdown = false
standby_needs_bgp = false
'''


class QuietTestCase(node.NodeTestCase, base.ControlTestCase):
    """On a node of its own, a namespace; the databases are real."""

    def setUp(self):
        super().setUp()
        self.socket = os.path.join(self.directory, 'control.ctl')
        self.cloud.add_router('r1', chassis=base.THERE)

    def configured(self, text=CONFIG, **default):
        """Path of a configuration with the bridge and databases of the test.

        :param text: further sections
        :param default: options of [DEFAULT]
        """
        return self.config(
            text, self.remotes(), control_socket=self.socket,
            bridge_dev=cloud.BRIDGE, drivers='gateway_drain',
            # There are no flows and no FRR to clean up.
            cleanup_on_shutdown=False, **default)

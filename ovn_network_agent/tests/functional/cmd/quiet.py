# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

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

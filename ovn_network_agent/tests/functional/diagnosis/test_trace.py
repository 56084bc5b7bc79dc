# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The traces of one address, by the real tools."""

import os
import shutil

from ovn_network_agent.diagnosis.address import finding
from ovn_network_agent.diagnosis.address import gathering
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.diagnosis import test_subject
from ovn_network_agent.tests.functional.ovn import cloud


@needs.needs(shutil.which('ovn-trace'), 'needs ovn-trace')
class TraceTest(test_subject.SubjectTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('one', chassis=cloud.CHASSIS)
        self.cloud.add_nat('one', test_subject.FIP)
        self.conf = self.configuration(
            ovs__ovs_rundir=os.path.dirname(self.ovs.file))

    def traces(self):
        """dict of title to :class:`packets.Traced`."""
        return {each.title: each for each in packets.read_traces(
            self.conf, gathering.setup(self.conf, '203.0.113.10'),
            finding.find(self.conf, test_subject.FIP,
                         self.drivers(self.conf))[0][0])}

    def test_each_tool_answers_for_itself(self):
        found = self.traces()
        self.assertEqual({'Open vSwitch, way in', 'OVN, way in',
                          'Open vSwitch, way back'}, set(found))
        # ovn-trace knows the switch and its port.
        self.assertIn('ingress(', found['OVN, way in'].text)
        self.assertIn('provnet-1', found['OVN, way in'].text)
        # No ovn-northd has made logical flows.
        self.assertRegex(found['OVN, way in'].verdict,
                         'ICMP to .* reaches no port; the last action: ')
        self.assertIn('not traced: there is no control socket of '
                      'ovs-vswitchd', found['Open vSwitch, way in'].verdict)

    def test_nothing_for_an_address_that_is_elsewhere(self):
        self.cloud.move('lrp-one', cloud.OTHER)
        self.assertEqual({}, self.traces())

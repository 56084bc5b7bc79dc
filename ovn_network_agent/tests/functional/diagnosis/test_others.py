# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Doctor and the filters of other programs, with a real nft.

Rules and flows of others: unit.diagnosis.node, and the lab.
"""

import subprocess

from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud

FIP = '198.51.100.10'
NETWORK = '198.51.100.0/24'


class OthersTest(doctor.Looks, base.OvsdbTestCase):
    """With a router, of which this node is only the second candidate."""

    def nft(self, *words):
        subprocess.run(['nft', ' '.join(words)], check=True)

    def test_filters_in_nftables(self):
        self.in_this_process()
        self.conf = self.of_databases(frr__vrf_name='vrf-provider',
                                      ovs__ovs_rundir='/nowhere')
        self.cloud.add_router('r1', chassis=cloud.OTHER)
        self.cloud.add_nat('r1', FIP)
        self.looked('dropping-flows', doctor.NOT_CHECKED)
        self.enterContext(namespaces.new())
        self.looked('packet-filters', doctor.OK)
        self.nft('add table inet guard;',
                 'add chain inet guard transit',
                 '{ type filter hook forward priority -10; }')
        for rule, verdict in (
                (f'ip daddr {FIP} drop', doctor.WARN),
                (f'ip saddr {NETWORK} drop', doctor.BROKEN),
                (f'ip saddr {NETWORK} tcp dport 25 drop', doctor.WARN),
                ('ip saddr 192.0.2.0/24 drop', doctor.OK)):
            self.nft('flush chain inet guard transit;',
                     f'add rule inet guard transit {rule}')
            said = self.looked('packet-filters', verdict)
            if verdict is not doctor.OK:
                self.assertIn('chain "inet guard transit"', said)

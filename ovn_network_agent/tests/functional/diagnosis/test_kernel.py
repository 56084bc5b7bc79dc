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


"""Doctor and a kernel of its own, of which one part is wrong.

Devices of VRFs are only in the lab (tests/lab/test_doctor.py).
"""

import os
import shutil
import subprocess
import tempfile

from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.netlink import base

_CONF = '/proc/sys/net/ipv4/conf/'


class KernelDoctorTest(doctor.Looks, base.KernelTestCase):

    rules_file = ''

    def write(self, path, value):
        with open(_CONF + path, 'w') as opened:
            opened.write(value)

    def test_the_bridge(self):
        """Without an agent it may be down, but not be missing."""
        self.looked('provider-bridge', doctor.WARN)
        self.ip('link set br-ex up')
        self.looked('provider-bridge', doctor.OK)
        self.conf.set_override('bridge_dev', 'br-none')
        self.assertIn('no such device', self.looked('provider-bridge',
                                                    doctor.BROKEN))

    def test_the_address_of_the_bridge(self):
        self.looked('bridge-address', doctor.OK)
        self.ip('link set br-ex-peer up')
        self.ip('address add 169.254.169.254/32 dev br-ex-peer')
        self.assertIn('br-ex-peer', self.looked('bridge-address',
                                                doctor.WARN))

    def test_the_vrf(self):
        self.conf.set_override('vrf_name', 'blue', 'frr')
        self.looked('vrf', doctor.BROKEN)
        # The name of a device that is no VRF.
        self.conf.set_override('vrf_name', 'br-ex-peer', 'frr')
        self.looked('vrf', doctor.BROKEN)
        self.looked('uplink', doctor.NOT_CHECKED)
        self.conf.set_override('vrf_name', '', 'frr')
        self.looked('vrf', doctor.NOT_CHECKED)

    def test_forwarding(self):
        self.write('all/forwarding', '0')
        self.looked('ip-forward', doctor.BROKEN)
        self.write('all/forwarding', '1')
        self.looked('ip-forward', doctor.OK)

    def test_rp_filter(self):
        for path, value, verdict in (
                ('all/rp_filter', '0', doctor.OK),
                ('br-ex/rp_filter', '1', doctor.BROKEN),
                ('all/rp_filter', '2', doctor.OK),
                ('all/rp_filter', '1', doctor.BROKEN),
                ('br-ex/rp_filter', '2', doctor.OK)):
            self.write(path, value)
            self.looked('rp-filter', verdict)

    def test_routes_of_another_program(self):
        self.conf.set_override('route_table_id', 77, 'fip_route')
        self.bridge_up()
        self.looked('routing-tables', doctor.OK)
        self.ip('route add 198.51.100.10/32 dev br-ex table 77 proto 44')
        self.looked('routing-tables', doctor.OK)
        self.ip('route add 192.0.2.0/24 dev br-ex table 77')
        self.looked('routing-tables', doctor.WARN)
        self.ip('route add unreachable default table 77')
        self.looked('routing-tables', doctor.BROKEN)

    def test_rules_of_another_program(self):
        self.conf.set_override('route_table_id', 77, 'fip_route')
        self.ip('rule add pref 1000 to 198.51.100.10 table 77 protocol 44')
        self.looked('rule-priorities', doctor.OK)
        self.ip('rule add pref 1000 from 192.0.2.0/24 table 78')
        self.assertIn('1000', self.looked('rule-priorities', doctor.WARN))
        self.ip('rule del pref 1000 from 192.0.2.0/24 table 78')
        self.looked('rule-priorities', doctor.OK)

    def test_a_local_destination(self):
        """This kernel may have no VRF; then nothing has to be accepted."""
        self.ip('address add 10.0.0.5/32 dev lo')
        self.looked('local-destinations', doctor.NOT_CHECKED)

    def test_the_original_program(self):
        """Alone it is a fault; beside another agent, the two are one."""
        self.runs_the_original()
        self.assertIn('runs as process', self.looked('original-program',
                                                     doctor.BROKEN))
        self.runs_the_original()
        seen = doctor.look(self.conf, 'single-agent', 'original-program')
        self.assertEqual(
            [('single-agent', doctor.BROKEN),
             ('original-program', doctor.NOT_CHECKED)],
            [(name, verdict) for name, (verdict, _why) in seen.items()])

    def runs_the_original(self):
        """An executable file of its name stands for it."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        process = subprocess.Popen([shutil.copy(
            '/bin/sleep', os.path.join(folder, 'ovn-network-agent')), '600'])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def test_nobody_runs(self):
        """In this network namespace; those of others do not count."""
        self.looked('single-agent', doctor.OK)
        self.looked('agent', doctor.NOT_CHECKED)

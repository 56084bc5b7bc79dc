# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Doctor and a kernel of its own, of which one part is wrong.

Devices of VRFs are only in the lab (tests/lab/test_doctor.py).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node.kernel import routing
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.netlink import base

# Ends with its standard input.
_HOLDER = '''
import sys
from ovn_network_agent.runtime.process import single_instance
place = single_instance.Place('test')
place.answer()
print('held', flush=True)
sys.stdin.read()
'''


class KernelDoctorTest(doctor.Looks, base.KernelTestCase):

    rules_file = ''

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

    def test_a_table_of_replies_without_its_route(self):
        """Of each family that has a rule, beside a running agent."""
        self.conf.set_override('vrf_name', 'blue', 'frr')
        self.conf.set_override('veth_leak_enabled', False, 'veth_leak')
        self.conf.set_override('rules_file', '/rules', 'port_forward')
        self.bridge_up()
        self.ip('-6 address add fd00::9/64 dev br-ex nodad')
        for family in '-4', '-6':
            self.ip(f'{family} rule add pref 151 fwmark 0x200/0x200 '
                    'table 201 protocol 44')
        self.assertEqual([], self._lost_tables())
        self._hold_the_lock()
        for family in '-4', '-6':
            self.assertEqual(
                ['table 201 has lost its default route, although an agent '
                 'runs'], self._lost_tables())
            self.ip(f'{family} route add default dev br-ex table 201 '
                    'proto 44')
        self.assertEqual([], self._lost_tables())

    def _hold_the_lock(self):
        """Have a process hold the lock of the only agent, as an agent does."""
        holder = self.enterContext(subprocess.Popen(
            [sys.executable, '-c', _HOLDER], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE))
        self.assertEqual(b'held\n', holder.stdout.readline())

    def _lost_tables(self):
        """What the check says is broken; without a VRF it is not made."""
        found = sources.Sources(self.conf, [])
        self.addCleanup(found.close)
        return [said.evidence for said in routing.judge_tables(
            routing.read_tables(found))
            if said.verdict is doctor.BROKEN]

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
        # A process has its new program before it has its new command line.
        command = pathlib.Path(f'/proc/{process.pid:d}/cmdline')
        waiting.eventually(command.read_bytes, 'the command line')

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What ovn-network-agent-ctl log-level sets in a running agent."""

import json
import logging
import os
import signal

from ovn_network_agent.conf import log_levels
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.cmd import running
from ovn_network_agent.tests.functional.control import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb


class LogLevelTest(base.CtlTestCase):

    def setUp(self):
        super().setUp()
        self.addCleanup(log_levels.temporary.undo)

    def test_shown_set_and_over(self):
        self.ready()
        name = 'ovn_network_agent.runtime.process.status'
        before = logging.getLogger(name).level
        self.assertIn('level of all loggers: ',
                      self.ends(0, self.ctl('log-level')).stdout)
        said = self.ends(0, self.ctl('log-level', 'error', '--logger',
                                     name)).stdout
        self.assertEqual(
            f'level of {name}: error\n  set by command: {name} to error '
            'until the next reload\n', said)
        self.assertEqual(logging.ERROR, logging.getLogger(name).level)
        self.ends(0, self.ctl('log-level', 'error', '--logger', name,
                              '--for', '0.5'))
        self.eventually(lambda: logging.getLogger(name).level == before,
                        'over')
        found = json.loads(self.ends(
            0, self.ctl('log-level', '--json')).stdout)
        self.assertEqual([], found['changed'])
        self.assertIn('no logger', self.ends(1, self.ctl(
            'log-level', 'debug', '--logger', 'nothing.like.that')).stderr)
        ended = self.ends(2, self.ctl('log-level', 'debgu'))
        self.assertIn('did you mean debug?', ended.stderr)


@ovsdb.needs_ovsdb
@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class DaemonTest(running.RunningTestCase):
    """In the program, with its privileged daemons."""

    def test_debug_until_a_reload(self):
        self.write_vtysh()
        control = os.path.join(self.directory, 'control.ctl')
        self.start(self.config(
            '[frr]\nvrf_name =\nfrr_prefix_list =\n', self.remotes,
            drivers='fip_route', control_socket=control, shutdown_timeout=3))
        self.eventually(lambda: self.status(control))

        def level(*argv):
            return json.loads(self.run_program(
                'ctl', '--socket', control, 'log-level', *argv,
                '--json').stdout)
        self.assertEqual('info', level()['level'])
        self.assertEqual('debug', level('debug')['level'])
        self.assertNotIn('was not set everywhere', self.log())
        self.eventually(lambda: 'Level of the log in the daemon' in
                        self.log())
        for name in ('kernel', 'ovs', 'frr', 'netfilter'):
            self.assertIn(f'in the daemon {name}: DEBUG', self.log())
        self.agent.send_signal(signal.SIGHUP)
        self.eventually(lambda: level()['level'] == 'info')
        self.assertEqual([], level()['changed'])
        self.assertNotIn('was not set everywhere', self.log())
        self.stop()

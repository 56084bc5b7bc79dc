# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Flows through ovs-ofctl behind a wrapper, as with a container."""

import os
import signal
import stat
import time
from unittest import mock

from ovn_network_agent.backends import base as backends
from ovn_network_agent.privileged.switch import ofctl
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.backends import test_flow
from ovn_network_agent.tests.functional.openflow import base


class TestWrapper(test_flow.EachWay, base.FlowTestCase):
    """The same with the other transport."""

    def setUp(self):
        super().setUp()
        # "env" is a wrapper like docker exec: it leads to another world.
        self.configure(ovs_wrapper=f'env OVS_RUNDIR={self.ovs.rundir}',
                       ovs_rundir='/nonexistent')

    def script(self, text):
        """Make a wrapper of this text the one that is configured."""
        path = os.path.join(self.ovs.rundir, 'wrapper')
        with open(path, 'w') as opened:
            opened.write('#!/bin/sh\n' + text)
        os.chmod(path, stat.S_IRWXU)
        self.addCleanup(os.unlink, path)
        self.configure(ovs_wrapper=path)

    def test_every_command_goes_through_it(self):
        """Row CFG-16: split at blanks, and before each command."""
        calls = os.path.join(self.ovs.rundir, 'calls')
        self.script(f'echo "$@" >>{calls}; '
                    f'OVS_RUNDIR={self.ovs.rundir} exec "$@"')
        self.configure(ovs_wrapper=f'{self.ovs.rundir}/wrapper env  A=b')
        wanted = base.hairpin(test_flow.DST)
        self.assertEqual({}, self.backend.apply(
            backends.Delta(create=(wanted,))))
        self.assertEqual([wanted], list(self.backend.read(frozenset())))
        with open(calls) as opened:
            lines = opened.read().splitlines()
        self.assertGreater(len(lines), 1)
        for line in lines:
            self.assertTrue(line.startswith('env A=b ovs-ofctl '), line)

    def test_without_standard_input(self):
        # Trap T51: docker exec without -i.
        self.script(f'OVS_RUNDIR={self.ovs.rundir} exec "$@" </dev/null')
        wanted = base.hairpin(test_flow.DST)
        with self.assertRaisesRegex(backends.BackendError, 'use -i'):
            self.backend.apply(backends.Delta(create=(wanted,)))

    def test_missing_wrapper(self):
        self.configure(ovs_wrapper='/nonexistent/wrapper -x')
        with self.assertRaisesRegex(backends.BackendError,
                                    '/nonexistent/wrapper'):
            self.backend.read(frozenset())

    def test_output_that_is_not_understood(self):
        self.script('echo " cookie=0x999, what is this"')
        with self.assertRaisesRegex(backends.BackendError, 'not a flow'):
            self.backend.read(frozenset())

    def test_hanging_wrapper_is_killed_with_its_children(self):
        # Trap T52: nothing of it goes on.
        children = os.path.join(self.ovs.rundir, 'children')
        self.script(f'sleep 97 & echo $! >{children}; echo $$ >>{children}\n'
                    'trap "" TERM; wait')
        with mock.patch.object(ofctl, '_LIMIT', 1.0):
            started = time.monotonic()
            with self.assertRaisesRegex(backends.BackendError, 'killed'):
                self.backend.read(frozenset())
        self.assertLess(time.monotonic() - started, 5)
        with open(children) as opened:
            for pid in map(int, opened.read().split()):
                self.addCleanup(self._kill, pid)
                waiting.eventually(lambda one=pid: not self._runs(one),
                                   f'the end of process {pid}', 1)

    def _runs(self, pid):
        """Whether a process is there, and more than a zombie."""
        try:
            with open(f'/proc/{pid}/stat') as opened:
                return opened.read().rpartition(') ')[2][0] != 'Z'
        except FileNotFoundError:
            return False

    def _kill(self, pid):
        """End what the test expects to have ended."""
        if self._runs(pid):
            os.kill(pid, signal.SIGKILL)

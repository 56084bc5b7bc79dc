# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The interpreter: eventlet stays out, and collections are rare."""

import os
import subprocess
import sys
import textwrap

import fixtures
from oslotest import base


class OwnThreadsTest(base.BaseTestCase):

    def said(self, code, path=''):
        """What a new interpreter prints."""
        env = {**os.environ, 'PYTHONPATH': os.pathsep.join(
            part for part in (path, os.getcwd()) if part)}
        return subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', textwrap.dedent(code)],
            env=env, check=True, capture_output=True, text=True).stdout

    def test_nobody_can_import_it_any_more(self):
        self.assertEqual('import of eventlet halted\n', self.said('''
            import ovn_network_agent.cmd.agent
            try:
                import eventlet
            except ImportError as error:
                print(str(error).partition(';')[0])
            '''))

    def test_nothing_is_patched(self):
        self.assertEqual('[]\n', self.said('''
            from ovn_network_agent.cmd import agent
            print(agent.interpreter.patched())
            '''))

    def test_a_library_that_cannot_do_without_gets_it_alone(self):
        # As oslo.privsep 3.8.0 does, which a test of 2025.2 has for real.
        directory = self.useFixture(fixtures.TempDir()).path
        os.mkdir(os.path.join(directory, 'oslo_privsep'))
        for name, text in (('__init__', ''),
                           ('daemon', 'import eventlet\nfound = eventlet')):
            with open(os.path.join(directory, 'oslo_privsep', name + '.py'),
                      'w') as module:
                module.write(text)
        self.assertEqual('eventlet None\n', self.said('''
            import sys
            from ovn_network_agent.runtime.process import interpreter
            interpreter.keep_eventlet_out()
            from oslo_privsep import daemon
            print(daemon.found.__name__, sys.modules['eventlet'])
            ''', directory))

    def test_an_interpreter_that_was_patched_before(self):
        said = self.said('''
            import eventlet
            eventlet.monkey_patch()
            from ovn_network_agent.cmd import agent
            from contextlib import redirect_stderr
            import sys
            with redirect_stderr(sys.stdout):
                print(agent.main(['--check-config']))
            ''')
        self.assertIn('eventlet has patched os, select, socket', said)
        self.assertEqual('1', said.split()[-1])


# Only a collection finds objects that refer to themselves.
_PROGRAM = '''
import gc
from ovn_network_agent.runtime.process import interpreter
interpreter.hold()
kept = [[] for _n in range(200000)]
looks = []
gc.callbacks.append(lambda phase, info: phase == 'stop' and looks.append(info))
interpreter.settle()
print(gc.get_freeze_count() > len(kept))
more = [[] for _n in range(1000000)]
print(len([one for one in looks if one['generation'] == 2]))
interpreter.settle()
looks.clear()
for _n in range(60000):
    one = []
    one.append(one)
print(sum(one['collected'] for one in looks) > 40000)
'''


class GarbageTest(base.BaseTestCase):

    def test_collections(self):
        done = subprocess.run([sys.executable, '-c', _PROGRAM], check=True,
                              stdout=subprocess.PIPE)
        self.assertEqual(['True', '0', 'True'], done.stdout.decode().split())

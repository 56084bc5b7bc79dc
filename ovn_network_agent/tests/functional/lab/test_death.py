# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A machine of the lab that dies fails the run, and leaves its last words."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

import fixtures
import testtools

from lab import kernel
from lab import lastwords
from ovn_network_agent.tests import needs

TOP = os.path.dirname(os.path.dirname(os.path.abspath(kernel.__file__)))
LIMIT = 120
# The machine dies in the second of three tests, without a word to anybody.
TESTS = '''\
import glob
import os
import unittest
from lab import syscalls
from lab import waiting

# The file in which stestr notes the results of a run that goes on.
RESULTS = 'build/stestr/lab-*/.stestr/tmp*'

def noted():
    # Each test is noted at its begin and at its end.
    return any(open(path, 'rb').read().count(b'test_1_before') > 1
               for path in glob.glob(RESULTS))

class Test(unittest.TestCase):

    def test_1_before(self):
        pass

    def test_2_death(self):
        waiting.wait_until('the result of the test before', noted)
        # The kernel brings it to the host.
        os.sync()
        with open('/dev/kmsg', 'w') as opened:
            opened.write('<3>these are my last words')
        syscalls._libc.reboot(syscalls.POWER_OFF)

    def test_3_after(self):
        pass
'''


def own_kernel():
    """Whether the machine has a kernel of its own, which can die."""
    return kernel.choose() != kernel.HOST


def child(pid):
    """The first child of a process, as soon as there is one."""
    with open(f'/proc/{pid:d}/task/{pid:d}/children') as opened:
        return int(opened.read().split()[0])


@needs.needs(os.geteuid() == 0, 'boots a machine')
class DeathTest(testtools.TestCase):

    def tree(self):
        """A source tree with a lab tier of its own.

        The tree has the virtual environment of this one.  An installation
        from there would leave programs that begin with a path of the tree, and
        the tree will be gone.  So the environment is up to date before.
        """
        subprocess.run(['bash', '-c', '. tools/lib.sh && need_venv'], cwd=TOP,
                       check=True, stdout=subprocess.DEVNULL)
        directory = tempfile.mkdtemp(
            prefix='death-', dir=os.path.join(TOP, 'build'))
        self.addCleanup(shutil.rmtree, directory)
        package = os.path.join(directory, 'ovn_network_agent')
        tests = os.path.join(package, 'tests')
        for path in (package, tests, os.path.join(tests, 'lab')):
            os.mkdir(path)
            open(os.path.join(path, '__init__.py'), 'w').close()
        with open(os.path.join(tests, 'lab', 'test_dying.py'), 'w') as opened:
            opened.write(TESTS)
        for name in os.listdir(TOP):
            if name not in ('build', 'tools', 'ovn_network_agent', '.git'):
                os.symlink(os.path.join(TOP, name),
                           os.path.join(directory, name))
        shutil.copytree(os.path.join(TOP, 'tools'),
                        os.path.join(directory, 'tools'))
        return directory

    def test_a_death_fails_the_run(self):
        tree = self.tree()
        ended = subprocess.run(
            ['tools/test', 'lab'], cwd=tree, text=True, timeout=LIMIT,
            env={**os.environ, 'LAB_SHARDS': '1', 'SKIP_APT': '1',
                 'LAB_KERNEL': kernel.choose(), 'TEST_WORKERS': '1'},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = ended.stdout
        self.assertEqual(1, ended.returncode, said)
        # Each of them ran once, or not at all.  The line that stestr prints
        # for a test may end with the machine; the results are in a file.
        self.assertLessEqual(said.count('test_1_before ['), 1, said)
        self.assertRegex(said, r'\n *[\d.]+ s +1  lab\.test_dying\.Test\n')
        self.assertIn('\n1 passed, 2 failed, 0 skipped', said)
        for name in ('test_2_death', 'test_3_after'):
            self.assertIn('NO RESULT: ovn_network_agent.tests.lab.test_dying.'
                          'Test.' + name, said)
        report = said.partition('The machine of lab 1 died')[2]
        self.assertTrue(report, said)
        if own_kernel():
            self.assertIn('these are my last words', report)
            with open(os.path.join(tree, 'build', 'log',
                                   'kernel-lab-1.log')) as opened:
                self.assertIn('these are my last words', opened.read())

    def test_words_of_a_kernel_that_panics(self):
        log = os.path.join(self.useFixture(fixtures.TempDir()).path, 'log')
        machine = subprocess.Popen(
            [sys.executable, '-m', 'lab', 'run', '--mem', '512M', '--log',
             log, '--', 'sh', '-c', f'echo up; exec sleep {LIMIT}'],
            cwd=TOP, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(machine.wait)
        self.addCleanup(machine.kill)
        self.assertEqual('up\n', machine.stdout.readline())
        # In its own code; it takes that for a fault of the kernel.
        os.kill(child(machine.pid), signal.SIGSEGV)
        error = machine.communicate(timeout=LIMIT)[1]
        self.assertEqual(70, machine.returncode, error)
        if own_kernel():
            self.assertIn('ended (status -6)', error)
            self.assertIn('Kernel panic - not syncing', error)
            with open(log) as opened:
                self.assertIn('Call Trace', opened.read())


class KeeperTest(testtools.TestCase):

    def test_the_last_words_of_too_many(self):
        log = os.path.join(self.useFixture(fixtures.TempDir()).path, 'log')
        keeper = lastwords.Keeper(log, limit=4000)
        source = os.dup(keeper.fd)
        keeper.start()
        with os.fdopen(source, 'w') as opened:
            for number in range(2000):
                opened.write(f'line {number}\n')
        keeper.close()
        sizes = [os.path.getsize(path)
                 for path in (log, log + lastwords.OLDER)]
        self.assertTrue(all(0 < size <= 2000 for size in sizes), sizes)
        self.assertEqual(['line 1997\n', 'line 1998\n', 'line 1999\n'],
                         keeper.tail(3).splitlines(keepends=True))

    def test_the_reason_of_a_panic_before_a_long_dump(self):
        log = os.path.join(self.useFixture(fixtures.TempDir()).path, 'log')
        keeper = lastwords.Keeper(log)
        source = os.dup(keeper.fd)
        keeper.start()
        reason = '[    0.58] Kernel panic - not syncing: Segfault\n'
        with os.fdopen(source, 'w') as opened:
            opened.write('before\n' + reason + '  00 00\n' * 100)
        keeper.close()
        self.assertEqual(reason + '  00 00\n' * 3, keeper.tail(3))
        self.assertEqual(reason + '  00 00\n' * 100, keeper.tail(101))

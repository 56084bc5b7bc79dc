# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The way into a running lab, from the outside: a machine is booted."""

import fcntl
import hashlib
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

from lab import kernel
from lab import running
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import waiting

TOP = os.path.dirname(os.path.dirname(os.path.abspath(kernel.__file__)))
# Two nodes, and the word when they are there.
PROGRAM = '''\
import signal
from lab import node
made = [node.Node('one'), node.Node('two')]
print('ready', flush=True)
signal.sigwait({signal.SIGTERM})
'''
PATIENCE = 60


def lab(*args):
    """argv of the command."""
    return [sys.executable, '-m', 'lab', *args]


class Machine:
    """A machine with two nodes in the background."""

    def __init__(self):
        # Blocked signals are inherited, and the program waits for one.
        self.process = subprocess.Popen(
            lab('run', '--mem', '512M', '--', sys.executable, '-c',
                'import signal; signal.pthread_sigmask(signal.SIG_BLOCK, '
                '{signal.SIGTERM})\n' + PROGRAM), cwd=TOP,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.name = ''
        said = self._first_line()
        if said != b'ready\n':
            self.process.terminate()
            rest = self.process.communicate()[0].decode()
            raise AssertionError(
                f'the machine said:\n{said.decode()}{rest}')
        self.name = next(one['name'] for one in running.labs()
                         if one['pid'] == self.process.pid)

    def _first_line(self):
        fd = self.process.stdout
        if not select.select([fd], [], [], PATIENCE)[0]:
            return b''
        return fd.readline()

    def exec(self, node, *argv, **kwargs):
        """Run a command in a node, to its end."""
        kwargs = {'stdin': subprocess.DEVNULL, **kwargs}
        if 'input' in kwargs:
            del kwargs['stdin']
        return subprocess.run(
            lab('exec', '--lab', self.name, node, '--', *argv), cwd=TOP,
            capture_output=True, timeout=PATIENCE, check=False, **kwargs)

    def start(self, node, *argv, **kwargs):
        """Start a command in a node."""
        return subprocess.Popen(
            lab('exec', '--lab', self.name, node, '--', *argv), cwd=TOP,
            stdout=subprocess.PIPE, **kwargs)

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


@needs.needs(os.geteuid() == 0, 'boots the lab machine: needs root')
class ConsoleTestCase(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Built here, if need be, and not while somebody waits for an answer.
        kernel.choose()

    def boot(self):
        machine = Machine()
        self.addCleanup(machine.close)
        return machine

    def wait_for(self, what, check):
        waiting.eventually(check, what, PATIENCE)


class TestSessions(ConsoleTestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.machine = Machine()
        cls.addClassCleanup(cls.machine.close)

    def test_output_and_status(self):
        done = self.machine.exec(
            'two', 'sh', '-c', 'hostname; pwd; echo wrong >&2; exit 7')
        self.assertEqual((7, b'two\n/\n', b'wrong\n'),
                         (done.returncode, done.stdout, done.stderr))

    def test_machine(self):
        done = self.machine.exec('machine', 'ls', '/run/lab/nodes')
        self.assertEqual((0, b'one\ntwo\n'), (done.returncode, done.stdout))

    def test_status_of_what_does_not_run(self):
        done = self.machine.exec('one', 'sh', '-c', 'kill -KILL $$')
        self.assertEqual(128 + signal.SIGKILL, done.returncode)
        done = self.machine.exec('one', 'no-such-program')
        self.assertEqual((127, b'lab: no-such-program: No such file or '
                               b'directory\n'),
                         (done.returncode, done.stderr))
        done = self.machine.exec('three', 'true')
        self.assertEqual((255, b'lab: there is no node three\n'),
                         (done.returncode, done.stderr))

    def test_input(self):
        # Far more than all the buffers on the way, both ways at once.
        data = os.urandom(1 << 20)
        done = self.machine.exec('one', 'cat', input=data)
        self.assertEqual(0, done.returncode)
        self.assertEqual(hashlib.sha256(data).hexdigest(),
                         hashlib.sha256(done.stdout).hexdigest())

    def test_long_command(self):
        word = 'x' * 20000
        done = self.machine.exec('one', 'echo', word)
        self.assertEqual(word.encode() + b'\n', done.stdout)

    def test_input_that_nobody_reads(self):
        done = self.machine.exec('one', 'true', input=bytes(1 << 20))
        self.assertEqual(0, done.returncode)
        done = self.machine.exec('one', 'head', '-c', '10',
                                 input=bytes(1 << 20))
        self.assertEqual((0, bytes(10)), (done.returncode, done.stdout))

    def test_background_does_not_hold_the_session(self):
        started = time.monotonic()
        done = self.machine.exec('one', 'sh', '-c', 'sleep 55 & echo done')
        self.assertEqual((0, b'done\n'), (done.returncode, done.stdout))
        self.assertLess(time.monotonic() - started, 50)

    def test_program_ends_with_its_client(self):
        for number, stdin in (('1111', subprocess.DEVNULL),
                              ('2222', subprocess.PIPE)):
            client = self.machine.start('one', 'sleep', number, stdin=stdin)
            if client.stdin:
                # It does not read this either; blocks when all is full.
                os.set_blocking(client.stdin.fileno(), False)
                client.stdin.write(bytes(60000))
            self.addCleanup(client.stdout.close)
            self.wait_for('sleep runs', lambda: self._runs(number))
            client.kill()
            client.wait()
            self.wait_for('sleep ends', lambda: not self._runs(number))
            if client.stdin:
                client.stdin.raw.close()

    def _runs(self, number):
        return ('sleep ' + number).encode() in self.machine.exec(
            'one', 'ps', 'ax', '-o', 'args').stdout

    def test_signals_are_for_the_program(self):
        client = self.machine.start(
            'one', 'sh', '-c', 'trap "echo caught; exit 3" INT; echo ready; '
            'while :; do sleep 0.1; done', stdin=subprocess.DEVNULL)
        self.addCleanup(client.kill)
        self.assertEqual(b'ready\n', client.stdout.readline())
        client.send_signal(signal.SIGINT)
        self.assertEqual(b'caught\n', client.communicate(
            timeout=PATIENCE)[0])
        self.assertEqual(3, client.returncode)

    def test_many(self):
        # More than there are consoles: some of them wait for a free one.
        clients = [self.machine.start('one', 'echo', str(n),
                                      stdin=subprocess.DEVNULL)
                   for n in range(14)]
        self.assertEqual([f'{n}\n' for n in range(14)], [
            client.communicate(timeout=PATIENCE)[0].decode()
            for client in clients])
        self.assertEqual([0] * 14, [one.returncode for one in clients])

    def test_slow_reader_holds_up_nobody(self):
        client = self.machine.start('one', 'yes', stdin=subprocess.DEVNULL)
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        client.stdout.read(1)
        self.assertEqual(b'two\n', self.machine.exec('two',
                                                     'hostname').stdout)

    def test_list(self):
        for word in ('list', 'ps'):
            out = subprocess.run(lab(word), cwd=TOP, check=True,
                                 timeout=PATIENCE,
                                 stdout=subprocess.PIPE).stdout.decode()
            self.assertRegex(out, rf'{self.machine.name}  pid '
                                  rf'{self.machine.process.pid} .*\n    '
                                  r'nodes: one two\n')


class TestEnter(ConsoleTestCase):

    def setUp(self):
        super().setUp()
        self.machine = self.boot()
        self.seen = ''
        self.leader, follower = pty.openpty()
        self.addCleanup(os.close, self.leader)
        self._size(24, 80)
        self.client = subprocess.Popen(
            ['setsid', '--ctty', *lab('enter', '--lab', self.machine.name,
                                      'two', '--', 'sh')],
            cwd=TOP, stdin=follower, stdout=follower, stderr=follower)
        os.close(follower)
        self.addCleanup(self.client.wait)
        self.addCleanup(self.client.kill)

    def _size(self, rows, columns):
        fcntl.ioctl(self.leader, termios.TIOCSWINSZ,
                    struct.pack('HHHH', rows, columns, 0, 0))

    def type(self, text):
        os.write(self.leader, text.encode())

    def expect(self, pattern):
        """Read on until this comes; lines end with CR and LF."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = re.search(pattern, self.seen)
            if found:
                self.seen = self.seen[found.end():]
                return
            left = deadline - time.monotonic()
            if left < 0 or not select.select([self.leader], [], [],
                                             left)[0]:
                self.fail(f'{pattern!r} is not in {self.seen!r}')
            self.seen += os.read(self.leader, 4096).decode()

    def test_shell(self):
        self.expect('# ')
        self.type('echo $(hostname) $(stty size) on $(tty)\r')
        self.expect('two 24 80 on /dev/pts/')
        # The client is told by a SIGWINCH.
        self._size(30, 100)
        self.type('while [ "$(stty size)" != "30 100" ]; do :; done; '
                  'echo re""sized\r')
        self.expect('resized\r\n')
        # Ctrl-C goes to what runs in the node; the client does not end.
        self.type('sh -c \'echo sle""eping; exec sleep 1000\'\r')
        self.expect('sleeping\r\n')
        self.type('\x03')
        self.expect('# ')
        self.type('echo $((6 * 7)) $?\r')
        self.expect('42 130\r\n')
        self.type('sleep 1000 &\r')
        self.expect('# ')
        self.type('exit 5\r')
        self.assertEqual(5, self.client.wait(PATIENCE))


class TestEnd(ConsoleTestCase):

    def test_down(self):
        machine = self.boot()
        subprocess.run(lab('down', '--lab', machine.name), cwd=TOP,
                       check=True, timeout=PATIENCE)
        self.assertNotEqual(0, machine.process.wait(PATIENCE))
        self._assert_gone(machine)
        done = machine.exec('one', 'true')
        self.assertEqual(255, done.returncode)
        self.assertIn(b'no such lab', done.stderr)

    def test_killed(self):
        # Whatever happens to the program that booted it, nothing stays.
        machine = self.boot()
        machine.process.kill()
        machine.process.wait()
        self._assert_gone(machine)

    def _assert_gone(self, machine):
        self.assertNotIn(machine.name,
                         [one['name'] for one in running.labs()])
        self.wait_for(f'no process of {machine.name}',
                      lambda: not self._processes(machine.name))

    def _processes(self, name):
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/cmdline', 'rb') as opened:
                    if name.encode() in opened.read():
                        found.append(int(pid))
            except OSError:
                continue
        return found


if __name__ == '__main__':
    unittest.main()

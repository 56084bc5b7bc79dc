# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Real daemons of FRR, each group in a network namespace of its own.

Since FRR 9 it is mgmtd that holds the configuration of staticd, since 10
also that of zebra.  Its sockets are in /run/frr whatever it is told, so that
this is the directory of their own, in a mount namespace.
"""

import functools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile

from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import waiting

DAEMONS = '/usr/lib/frr'
# Before the tests put scripts in its place.
_VTYSH = shutil.which('vtysh')
RUN = '/run/frr'
# Before the last byte of an answer, which is its status.
_END = bytes(3)
# Seconds for one vtysh of a test: a daemon that a test has stopped never
# answers, and a test that hangs ends no run.
_LIMIT = 60


def wait_until(condition, what, seconds=15):
    """Wait for something that FRR does, and give the value."""
    return waiting.eventually(condition, what, seconds)


def _exchange(asking, command):
    """Send a command to a daemon and give its answer, a text."""
    asking.sendall(command.encode() + b'\0')
    answer = b''
    while answer[-4:-1] != _END:
        data = asking.recv(65536)
        if not data:
            raise ConnectionResetError('a daemon of FRR has ended')
        answer += data
    return answer[:-4].decode()


@functools.cache
def _takes(daemon, option):
    """Whether a daemon of this version has an option."""
    shown = subprocess.run([os.path.join(DAEMONS, daemon), '--help'],
                           check=True, capture_output=True, text=True)
    return option in shown.stdout


def holder():
    """The daemon of this version that has the static routes."""
    return ('mgmtd' if os.path.exists(os.path.join(DAEMONS, 'mgmtd'))
            else 'staticd')


class Daemons:
    """Daemons of FRR that share a run directory and a network namespace.

    :ivar bindir: directory with a vtysh that talks to them
    """

    def __init__(self):
        self.rundir = tempfile.mkdtemp(prefix='frr-')
        self._processes = {}
        os.makedirs(RUN, exist_ok=True)
        self.namespace = namespaces.Namespace(
            ['--mount'], 'mount --bind "$1" "$2"', [self.rundir, RUN])
        self._user = pwd.getpwnam('frr')
        os.chmod(self.rundir, 0o755)
        self._own(self.rundir)
        self.bindir = os.path.join(self.rundir, 'bin')
        os.mkdir(self.bindir)
        for name in ('frr.conf', 'vtysh.conf'):
            self._write(name, '')
        self.restore_vtysh()

    @property
    def real_vtysh(self):
        """The program and arguments that reach these daemons."""
        return (f'{_VTYSH} --vty_socket {self.rundir} '
                f'--config_dir {self.rundir}')

    def write_vtysh(self, script):
        """Put a script in the place of vtysh.

        Another process writes it: a child that a thread of this one forks
        meanwhile would have it open, and nobody could run it (ETXTBSY).
        """
        subprocess.run(['install', '-m', '0750', '/dev/stdin',
                        os.path.join(self.bindir, 'vtysh')],
                       input=script, text=True, check=True)

    def restore_vtysh(self):
        """Take the script away again."""
        self.write_vtysh(f'#!/bin/sh\nexec {self.real_vtysh} "$@"\n')

    def log_commands(self):
        """Begin to note the commands that the daemons get."""
        self.configure('log file ' + self._commands, 'log commands')

    def commands(self, daemon='bgpd'):
        """The commands since :meth:`log_commands`, a list of lines.

        :param daemon: the daemon whose commands have to be complete
        """
        # A daemon has written its log when it answers the next question.
        self.only(daemon, 'show version')
        with open(self._commands) as opened:
            return opened.read().splitlines()

    def refreshes(self):
        """The number of soft refreshes among :meth:`commands`."""
        return sum('clear ip bgp' in line and 'soft out' in line
                   for line in self.commands())

    def forget_commands(self):
        """Take back what :meth:`log_commands` has set."""
        self.configure('no log file', 'no log commands')

    @property
    def _commands(self):
        return os.path.join(self.rundir, 'commands.log')

    def start(self, name, *args, config=''):
        """Start a daemon and wait until it takes commands.

        A second one would leave the first without anyone to end it.
        """
        if self.runs(name):
            raise AssertionError(f'{name} runs already')
        self._write(name + '.conf', config)
        argv = [*self._enter, os.path.join(DAEMONS, name),
                '--vty_socket', self.rundir,
                '-i', os.path.join(self.rundir, name + '.pid'), '-P', '0']
        if _takes(name, '--config_file'):
            argv += ['-f', os.path.join(self.rundir, name + '.conf')]
        if '-Z' not in args:
            argv += ['-z', os.path.join(self.rundir, 'zserv.api')]
        with open(os.path.join(self.rundir, name + '.log'), 'ab') as log:
            self._processes[name] = subprocess.Popen(
                [*argv, *args], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)
        wait_until(lambda: self._answers(name), f'{name} answers')

    def pid(self, name):
        """Process id of a daemon."""
        return self._processes[name].pid

    def runs(self, name):
        """Whether a daemon was started and has not ended."""
        return name in self._processes and self.ended(name) is None

    def ended(self, name):
        """Status with which a daemon has ended, None while it runs."""
        return self._processes[name].poll()

    def signal(self, name, number):
        self._processes[name].send_signal(number)

    def kill(self, name):
        """Kill a daemon, as a crash would."""
        process = self._processes.pop(name)
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
        for suffix in ('.vty', '.pid'):
            path = os.path.join(self.rundir, name + suffix)
            if os.path.exists(path):
                os.unlink(path)

    def stop(self):
        for name in list(self._processes)[::-1]:
            self.kill(name)
        self.namespace.close()
        shutil.rmtree(self.rundir)

    def ip(self, *words):
        """Run ip(8) in the namespace."""
        self.namespace.run('ip', *words)

    @property
    def _enter(self):
        """Run something in the namespaces."""
        # Without --root it would leave a chroot.
        return self.namespace.inside('--mount', '--root', '--wd')

    def vtysh(self, *commands, stdin=None):
        """Run commands, as the operator would; returns the output."""
        arguments = [word for text in commands for word in ('-c', text)]
        return subprocess.run(
            [os.path.join(self.bindir, 'vtysh'), *arguments],
            check=True, capture_output=True, text=True, input=stdin,
            timeout=_LIMIT).stdout

    def only(self, daemon, command):
        """What one daemon says."""
        return subprocess.run(
            [os.path.join(self.bindir, 'vtysh'), '-d', daemon, '-c',
             command], check=True, capture_output=True, text=True,
            timeout=_LIMIT).stdout

    def ask(self, name, command):
        """What one daemon says, over the socket that vtysh uses.

        To start vtysh takes a tenth of a second of processor time.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.settimeout(_LIMIT)
            asking.connect(os.path.join(self.rundir, name + '.vty'))
            _exchange(asking, 'enable')
            return _exchange(asking, command)

    def lines(self):
        """What is in the running configuration of any daemon, a set."""
        return {line for name in self._processes
                for line in self.ask(name, 'show running-config').split('\n')}

    def configure(self, *lines):
        """Change the configuration, as the operator would."""
        self.vtysh('configure terminal', *lines)

    def configure_one(self, daemon, line):
        """Change the configuration of one daemon alone."""
        subprocess.run(
            [os.path.join(self.bindir, 'vtysh'), '-d', daemon,
             '-c', 'configure terminal', '-c', line],
            check=True, capture_output=True, timeout=_LIMIT)

    def running(self):
        """The running configuration as a list of lines."""
        return self.vtysh('show running-config').split('\n')

    def _answers(self, name):
        try:
            return self.ask(name, 'show version')
        except OSError:
            return False

    def _write(self, name, text):
        path = os.path.join(self.rundir, name)
        with open(path, 'w') as opened:
            opened.write(text)
        self._own(path)

    def _own(self, path):
        os.chown(path, self._user.pw_uid, self._user.pw_gid)

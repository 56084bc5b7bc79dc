# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent under test on a node."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

from lab import imaged
from lab import node as nodes
from lab import plan

CONFIG = '/etc/ovn-network-agent/ovn-network-agent.conf'
NOTIFY = '/run/notify.sock'
# Those of the agent for libraries, and no line for each of 200 options at each
# start.
_LEVELS = ('oslo_privsep.daemon=WARNING,oslo.privsep.daemon=WARNING,'
           'ovsdbapp=INFO,stevedore=WARNING,ovn_network_agent.cmd.agent=INFO')
DEFAULTS = {
    'DEFAULT': {'debug': 'true', 'default_log_levels': _LEVELS},
    'ovn': {'ovn_nb_remote': plan.NB, 'ovn_sb_remote': plan.SB},
}


class Agent:
    """ovn-network-agent on a node; it may be started many times.

    :param config: dict of group to dict of option to value, on top of
        :data:`DEFAULTS`
    :ivar program: argv of the agent without its arguments; see
        :mod:`lab.imaged` for that of an image
    :ivar states: list of (monotonic seconds, text): each status that the agent
        gave its supervisor, over all starts
    """

    def __init__(self, node, config: dict | None = None):
        self.node = node
        self.config = {group: dict(values)
                       for group, values in DEFAULTS.items()}
        for group, values in (config or {}).items():
            self.config.setdefault(group, {}).update(values)
        self.program = imaged.program() or [
            os.path.join(os.path.dirname(sys.executable),
                         'ovn-network-agent')]
        self.process = None
        self._notify = None
        self._said = []
        self.states = []
        self.starts = 0

    def write_config(self):
        """Write the configuration file."""
        lines = []
        for group, values in self.config.items():
            lines.append(f'[{group}]')
            lines += [f'{option} = {value}'
                      for option, value in values.items()]
        self.node.write(CONFIG, '\n'.join(lines) + '\n')

    def command(self, *args):
        """argv of the agent with its configuration file."""
        return [*self.program, '--config-file', CONFIG, *args]

    def ctl(self, *args, **kwargs) -> subprocess.CompletedProcess:
        """Run ovn-network-agent-ctl on the agent's node.

        :param kwargs: for :meth:`node.Node.run`
        """
        script = os.path.join(os.path.dirname(sys.executable),
                              'ovn-network-agent-ctl')
        return self.node.run([script, '--config-file', CONFIG, *args],
                             **kwargs)

    def look(self, *args) -> subprocess.CompletedProcess:
        """Run a command of which any exit status is right."""
        return self.ctl(*args, check=False)

    def start(self):
        """Start the agent; returns at once."""
        self.write_config()
        self._listen()
        self.starts += 1
        self.process = self.node.spawn(
            'agent', self.command(),
            env={**os.environ, 'NOTIFY_SOCKET': NOTIFY})

    def _listen(self):
        self.close()
        path = self.node.path(NOTIFY)
        if os.path.exists(path):
            os.unlink(path)
        self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notify.bind(path)
        # The thread reads at once, like systemd.  A socket takes only ten
        # messages; then the agent would wait.
        self._said = []
        threading.Thread(
            target=_listen, args=(self._notify, self._said, self.states),
            daemon=True).start()

    def wait_ready(self, timeout=60):
        """Wait until the agent sends READY=1.

        :raises NodeError: when the agent ended or took too long; with its log
        """
        def ready():
            if self.process.poll() is not None:
                status = self.process.returncode
                raise nodes.NodeError(f'{self.node.name}: the agent ended '
                                      f'with status {status:d}\n{self.log()}')
            return 'READY=1' in self._said

        try:
            nodes.wait_until(f'{self.node.name}: the agent is ready',
                             ready, timeout)
        except nodes.NodeError as e:
            raise nodes.NodeError(f'{e}\n{self.log()}') from e

    def stop(self, number=signal.SIGTERM, timeout=90) -> int:
        """Orderly stop."""
        return self.node.stop('agent', number, timeout)

    def kill(self):
        """Kill the agent, and wait for the end of its daemons."""
        children = self.children()
        self.node.stop('agent', signal.SIGKILL)
        nodes.wait_until(
            'the privileged daemons have ended', lambda: not any(
                os.path.exists(f'/proc/{pid:d}') for pid in children))

    def freeze(self):
        """Stop the agent and its daemons with SIGSTOP, as if they hung."""
        for pid in (self.process.pid, *self.children()):
            os.kill(pid, signal.SIGSTOP)

    def thaw(self):
        """Undo :meth:`freeze`."""
        for pid in (*self.children(), self.process.pid):
            os.kill(pid, signal.SIGCONT)

    def children(self):
        """PIDs of the agent's child processes, in the machine's namespace."""
        path = f'/proc/{self.process.pid}/task/{self.process.pid}/children'
        with open(path, encoding='ascii') as opened:
            return [int(pid) for pid in opened.read().split()]

    def log(self):
        """The output of the agent, text."""
        return self.node.log('agent')

    def close(self):
        """Close the notify socket."""
        if self._notify is not None:
            self._notify.shutdown(socket.SHUT_RDWR)
            self._notify.close()
            self._notify = None


def _listen(opened, said, states):
    """Collect the messages until the socket is shut down."""
    while data := opened.recv(65536):
        lines = data.decode().split('\n')
        said += lines
        states += [(time.monotonic(), line.removeprefix('STATUS='))
                   for line in lines if line.startswith('STATUS=')]

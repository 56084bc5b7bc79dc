# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent with the real backends, of which each can be a place to die.

``python -m ...crash.program`` takes the arguments of the agent.  For each line
of its input it starts an agent, prints its process id, and at its end its exit
status.  The agents are forks of one process that has loaded all modules: the
imports would be most of the time of the tests.

The variable CRASH_ORDER names a file, which may come later and has a JSON
object:
``backend``, the name of a backend or '' for any; ``moment``, BEFORE its
changes, WITHIN or AFTER them; ``victim``, 'agent' or the name of a privileged
daemon.  The next changes of the backend remove the file, and carry the order
out.
"""

from importlib import metadata
import json
import os
import signal
import sys
import threading

from ovn_network_agent import privileged
from ovn_network_agent.backends import base
from ovn_network_agent.cmd import agent
from ovn_network_agent.runtime import loader

BEFORE, WITHIN, AFTER = 'before', 'within', 'after'

_LOCK = threading.Lock()


def _take_order(name):
    """The order for the changes of a backend, which it removes, or None."""
    path = os.environ['CRASH_ORDER']
    with _LOCK:
        try:
            with open(path) as opened:
                order = json.load(opened)
        except FileNotFoundError:
            return None
        if order['backend'] not in ('', name):
            return None
        os.unlink(path)
    return order


def _kill(victim):
    """SIGKILL for this process or one of its daemons; waits for the end."""
    pid = os.getpid()
    if victim != 'agent':
        (pid,) = [context.pid for context in privileged.CONTEXTS
                  if context.name == victim]
    os.kill(pid, signal.SIGKILL)
    if victim == 'agent':
        signal.pause()


def half(delta):
    """The first half of each part of a delta, rounded down."""
    return base.Delta(*(part[:len(part) // 2] for part in (
        delta.create, delta.update, delta.delete)))


def mortal(backend):
    """Make a backend a place to die.

    :param backend: :class:`backends.base.Backend`
    """
    real = backend.apply

    def apply(delta):
        order = _take_order(backend.name)
        if order is None:
            return real(delta)
        if order['moment'] == BEFORE:
            _kill(order['victim'])
            return real(delta)
        if order['moment'] == WITHIN and len(delta) > 1:
            real(half(delta))
            _kill(order['victim'])
        failures = real(delta)
        _kill(order['victim'])
        return failures
    backend.apply = apply


def _agent():
    """Run the agent; see :func:`cmd.agent.main`."""
    load = loader.load_backends

    def mortals(*args):
        made = load(*args)
        for backend in made:
            mortal(backend)
        return made
    loader.load_backends = mortals
    return agent.main()


def _fork():
    """Start an agent, whose output is that of errors; gives its pid."""
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        sys.exit(_agent())
    return pid


def main():
    """Start agents, one after the other."""
    for group in loader.DRIVERS, loader.BACKENDS:
        for point in metadata.entry_points(group=group):
            point.load()
    # The file object would read further lines, and a fork have a copy.
    while os.read(0, 1):
        pid = _fork()
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == '__main__':
    sys.exit(main())

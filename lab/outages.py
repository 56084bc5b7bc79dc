# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What can fail in a cloud: how each outage begins, and how it ends.

An outage is a pair of functions of (cloud, name of the gateway node that has
the gateway ports).  The programs of the outage are the real ones, and the end
is that of a real host: the same program with the same files starts again.
"""

import contextlib
import dataclasses
import os
import signal
import subprocess
import time
import typing

from lab import frr
from lab import node as nodes
from lab import plan

# Seconds between the end of an agent and its next start: RestartSec= of the
# unit.
RESTART = 5.0
# Seconds for an agent to notice that it cannot go on.
_END = 15.0
# Names of the privileged daemons in /proc/PID/comm.
_DAEMON = 'ovnagent-'


def _nothing(_cloud, _name):
    """Somebody else ends the outage."""


@dataclasses.dataclass(frozen=True)
class Outage:
    """One outage."""

    name: str
    what: str  # what happens, for a table
    begin: typing.Callable  # function(cloud, name of the gateway)
    end: typing.Callable = _nothing
    seconds: float = 5.0


# -- databases, northd, Open vSwitch -----------------------------------------

def _dead(node, *services):
    """Begin and end of services that are killed.

    :param node: 'central', or '' for the gateway that has the outage
    """
    def begin(cloud, name):
        for service in services:
            cloud[node or name].stop(service, signal.SIGKILL)

    def end(cloud, name):
        for service in services:
            cloud[node or name].start_again(service)

    return begin, end


def _silent(node, *services):
    """The same of services that are paused."""
    return tuple(lambda cloud, name, do=do: [
        do(cloud[node or name], service) for service in services]
        for do in (nodes.Node.pause, nodes.Node.resume))


# -- FRR --------------------------------------------------------------------

def kill_frr(*daemons):
    """A function that kills daemons of FRR, which watchfrr looks after."""
    def do(cloud, name):
        node = cloud[name]
        pids = [frr.pid(node, daemon) for daemon in daemons]
        node.run(['kill', '-KILL', *pids])
        nodes.wait_until(f'{daemons} have ended', lambda: not any(
            node.exists('/proc/' + pid) for pid in pids))
    return do


def _restarted(*daemons):
    """A function that waits until watchfrr has started daemons again."""
    def do(cloud, name):
        node = cloud[name]
        nodes.wait_until(f'watchfrr has started {daemons}', lambda: all(
            frr.answers(node, daemon) for daemon in daemons), 90)
    return do


def _of_frr(name, *daemons):
    what = ', '.join(daemons)
    return Outage(name, f'{what} killed', kill_frr(*daemons),
                  _restarted(*daemons), 0)


# -- the agent --------------------------------------------------------------

def kill_daemon(cloud, name, daemon):
    """SIGKILL for one privileged daemon, as by the kernel without memory."""
    agent = cloud.agents[name]
    for pid in agent.children():
        with open(f'/proc/{pid:d}/comm', encoding='ascii') as opened:
            # The kernel keeps 15 characters of the name.
            if opened.read().strip() == (_DAEMON + daemon)[:15]:
                os.kill(pid, signal.SIGKILL)
                return
    raise nodes.NodeError(f'{name} has no daemon {daemon}')


def supervised(cloud, name):
    """What systemd does: start an agent that has ended."""
    agent = cloud.agents[name]
    status = agent.process.wait(_END)
    time.sleep(RESTART)
    agent.start()
    agent.wait_ready()
    return status


def _daemon(daemon):
    return Outage(
        f'daemon-{daemon}', f'privileged daemon "{daemon}" killed',
        lambda cloud, name: kill_daemon(cloud, name, daemon), supervised, 0)


# -- the management network -------------------------------------------------

def _network(name, *words):
    """Begin and end of a quality of the network of a node, both directions.

    :param name: 'central', whose network is that of the databases, or '' for
        the whole management network of the gateway
    """
    def begin(cloud, gateway):
        _tc(cloud, name or gateway, 'add', 'netem', *words)

    def end(cloud, gateway):
        _tc(cloud, name or gateway, 'del')

    return begin, end


def _tc(cloud, name, action, *words):
    rest = ['root', *words]
    cloud[name].run(['tc', 'qdisc', action, 'dev', 'eth0', *rest])
    subprocess.run(['tc', 'qdisc', action, 'dev', 'm-' + name, *rest],
                   check=True)


# -- what the agent takes from the kernel -----------------------------------

def jump(seconds):
    """Set the clock of the machine, that is of all nodes.

    :param seconds: how far, negative for backwards
    """
    time.clock_settime(time.CLOCK_REALTIME,
                       time.clock_gettime(time.CLOCK_REALTIME) + seconds)


def limit_descriptors(cloud, name):
    """Leave the agent no free descriptor, and have it need one."""
    pid = cloud.agents[name].process.pid
    used = set(map(int, os.listdir(f'/proc/{pid:d}/fd')))
    _set_limit(pid, min(set(range(len(used) + 1)) - used))
    cloud['central'].stop('nb', signal.SIGKILL)
    cloud['central'].start_again('nb')


def free_descriptors(cloud, name):
    """Undo :func:`limit_descriptors`."""
    _set_limit(cloud.agents[name].process.pid, 1024)


def _set_limit(pid, number):
    subprocess.run(['prlimit', '--pid', str(pid), f'--nofile={number:d}:'],
                   check=True)


OUTAGES = {one.name: one for one in (
    Outage('nb', 'NB server killed', *_dead('central', 'nb')),
    Outage('sb', 'SB server killed', *_dead('central', 'sb')),
    Outage('databases', 'NB and SB servers killed',
           *_dead('central', 'nb', 'sb')),
    Outage('databases-silent', 'NB and SB servers say nothing',
           *_silent('central', 'nb', 'sb'), 30),
    Outage('northd', 'ovn-northd killed', *_dead('central', 'northd')),
    Outage('ovsdb', 'local ovsdb-server killed', *_dead('', 'ovsdb')),
    Outage('ovsdb-silent', 'local ovsdb-server says nothing',
           *_silent('', 'ovsdb'), 20),
    Outage('vswitchd', 'ovs-vswitchd killed', *_dead('', 'vswitchd'), 1),
    Outage('ovn-controller', 'ovn-controller killed',
           *_dead('', 'ovn-controller')),
    *(_of_frr(name, name) for name in dict.fromkeys(
        (frr.STATIC, 'staticd', 'bgpd', 'bfdd', 'zebra'))),
    _of_frr('frr', 'zebra', 'staticd', 'bgpd'),
    Outage('agent', 'agent killed',
           lambda cloud, name: cloud.agents[name].kill(), supervised, 0),
    *map(_daemon, ('kernel', 'ovs', 'frr', 'netfilter')),
    Outage('vrf', 'VRF device deleted',
           lambda cloud, name: cloud[name].batch(f'link del {plan.VRF}\n'),
           lambda cloud, name: cloud.wire_vrf(name), 3),
    Outage('uplink', 'uplink down', *(
        lambda cloud, name, to=to: cloud[name].batch(f'link set eth1 {to}\n')
        for to in ('down', 'up'))),
    Outage('control-loss', 'network of the databases: 30 % loss',
           *_network('central', 'loss', '30%'), 60),
    Outage('control-delay', 'network of the databases: 200 ms',
           *_network('central', 'delay', '100ms'), 30),
    Outage('control-silence', 'network of the databases: silence',
           *_network('central', 'loss', '100%'), 30),
    Outage('network-silence', 'whole management network: silence',
           *_network('', 'loss', '100%'), 30),
    Outage('clock-forward', 'the clock jumps an hour forward',
           lambda _cloud, _name: jump(3600), seconds=10),
    Outage('clock-back', 'the clock jumps an hour back',
           lambda _cloud, _name: jump(-3600), seconds=10),
    Outage('descriptors', 'no free descriptor, and NB restarted',
           limit_descriptors, free_descriptors, 10),
)}


@contextlib.contextmanager
def watched_by_watchfrr(node, options=''):
    """FRR as its unit starts it, under watchfrr, while the block runs."""
    frr.stop(node)
    frr.supervise(node, options)
    try:
        yield
    finally:
        frr.unsupervise(node)

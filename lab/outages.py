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


# -- databases and northd ---------------------------------------------------

def _central(action, *services):
    """A function that does something with services of the central node."""
    def do(cloud, _name):
        for service in services:
            action(cloud['central'], service)
    return do


def _kill(node, service):
    node.stop(service, signal.SIGKILL)


def _start(node, service):
    node.start_again(service)


def _pause(node, service):
    node.pause(service)


def _resume(node, service):
    node.resume(service)


def _of_gateway(action, service):
    """A function that does something with a service of the gateway."""
    def do(cloud, name):
        action(cloud[name], service)
    return do


# -- FRR --------------------------------------------------------------------

def _kill_frr(*daemons):
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
    return Outage(name, f'{what} killed', _kill_frr(*daemons),
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


def _kill_agent(cloud, name):
    cloud.agents[name].kill()


# -- the node ---------------------------------------------------------------

def _delete_vrf(cloud, name):
    cloud[name].batch(f'link del {plan.VRF}\n')


def _make_vrf(cloud, name):
    cloud.wire_vrf(name)


def _uplink_down(cloud, name):
    cloud[name].batch('link set eth1 down\n')


def _uplink_up(cloud, name):
    cloud[name].batch('link set eth1 up\n')


# -- the management network -------------------------------------------------

def _control_network(*words):
    """A function that sets the quality of the network of the databases.

    The packets of the central node in both directions; no tunnel ends there.
    """
    def begin(cloud, _name):
        cloud['central'].run(['tc', 'qdisc', 'add', 'dev', 'eth0', 'root',
                              'netem', *words])
        _tc('add', 'm-central', *words)

    return begin


def _control_network_well(cloud, _name):
    cloud['central'].run(['tc', 'qdisc', 'del', 'dev', 'eth0', 'root'])
    _tc('del', 'm-central')


def _whole_network(*words):
    """The same for the whole management network of one gateway."""
    def begin(cloud, name):
        cloud[name].run(['tc', 'qdisc', 'add', 'dev', 'eth0', 'root',
                         'netem', *words])
        _tc('add', 'm-' + name, *words)

    return begin


def _whole_network_well(cloud, name):
    cloud[name].run(['tc', 'qdisc', 'del', 'dev', 'eth0', 'root'])
    _tc('del', 'm-' + name)


def _tc(action, device, *words):
    """Set the quality of a device of the machine."""
    subprocess.run(['tc', 'qdisc', action, 'dev', device, 'root',
                    *(('netem', *words) if words else ())], check=True)


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
    _kill(cloud['central'], 'nb')
    _start(cloud['central'], 'nb')


def free_descriptors(cloud, name):
    """Undo :func:`limit_descriptors`."""
    _set_limit(cloud.agents[name].process.pid, 1024)


def _set_limit(pid, number):
    subprocess.run(['prlimit', '--pid', str(pid), f'--nofile={number:d}:'],
                   check=True)


OUTAGES = {one.name: one for one in (
    Outage('nb', 'NB server killed', _central(_kill, 'nb'),
           _central(_start, 'nb')),
    Outage('sb', 'SB server killed', _central(_kill, 'sb'),
           _central(_start, 'sb')),
    Outage('databases', 'NB and SB servers killed',
           _central(_kill, 'nb', 'sb'), _central(_start, 'nb', 'sb')),
    Outage('databases-silent', 'NB and SB servers say nothing',
           _central(_pause, 'nb', 'sb'), _central(_resume, 'nb', 'sb'), 30),
    Outage('northd', 'ovn-northd killed', _central(_kill, 'northd'),
           _central(_start, 'northd')),
    Outage('ovsdb', 'local ovsdb-server killed', _of_gateway(_kill, 'ovsdb'),
           _of_gateway(_start, 'ovsdb')),
    Outage('ovsdb-silent', 'local ovsdb-server says nothing',
           _of_gateway(_pause, 'ovsdb'), _of_gateway(_resume, 'ovsdb'), 20),
    Outage('vswitchd', 'ovs-vswitchd killed',
           _of_gateway(_kill, 'vswitchd'), _of_gateway(_start, 'vswitchd'),
           1),
    Outage('ovn-controller', 'ovn-controller killed',
           _of_gateway(_kill, 'ovn-controller'),
           _of_gateway(_start, 'ovn-controller')),
    *(_of_frr(name, name) for name in dict.fromkeys(
        (frr.STATIC, 'staticd', 'bgpd', 'bfdd', 'zebra'))),
    _of_frr('frr', 'zebra', 'staticd', 'bgpd'),
    Outage('agent', 'agent killed', _kill_agent, supervised, 0),
    *map(_daemon, ('kernel', 'ovs', 'frr', 'netfilter')),
    Outage('vrf', 'VRF device deleted', _delete_vrf, _make_vrf, 3),
    Outage('uplink', 'uplink down', _uplink_down, _uplink_up),
    Outage('control-loss', 'network of the databases: 30 % loss',
           _control_network('loss', '30%'), _control_network_well, 60),
    Outage('control-delay', 'network of the databases: 200 ms',
           _control_network('delay', '100ms'), _control_network_well, 30),
    Outage('control-silence', 'network of the databases: silence',
           _control_network('loss', '100%'), _control_network_well, 30),
    Outage('network-silence', 'whole management network: silence',
           _whole_network('loss', '100%'), _whole_network_well, 30),
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

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A gateway node whose agent dies, and is started again as by systemd.

The node is that of migrate.base: real databases, Open vSwitch, FRR, nftables
and netlink, with traffic.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading

from lab import waiting
from ovn_network_agent import ownership
from ovn_network_agent.control.socket import client
from ovn_network_agent.tests.functional.cmd import base as programs
from ovn_network_agent.tests.functional.crash import program
from ovn_network_agent.tests.functional.migrate import base
from ovn_network_agent.tests.functional.migrate import places
from ovn_network_agent.tests.functional.migrate import probes
from ovn_network_agent.tests.functional.ovn import cloud

HERE, OTHER = cloud.CHASSIS, cloud.OTHER
GAMMA = 'gamma'
# The VIP that only some files of rules have.
SECOND = '192.0.2.54'
_CONF = '''\
[DEFAULT]
control_socket = {directory}/control.ctl
{options}[ovn]
ovn_nb_remote = {nb}
ovn_sb_remote = {sb}
[ovs]
ovsdb_connection = {ovs}
ovs_rundir = {ovs_rundir}
ovn_rundir = {ovs_rundir}
[frr]
vrf_name =
frr_run_dir = {frr_rundir}
[fip_route]
route_table_id = 100
[gateway_drain]
drain_on_shutdown = false
[port_forward]
rules_file = {directory}/rules.yaml
'''
# The switch numbers its ports.  A relay that a stop removed and a start made
# again has the next number, and nothing depends on which one.
_RELAY = re.compile(f'(cookie={ownership.COOKIE_RELAY:#x},.*in_port=)'
                    r'\d+')
# Seconds for all that follows a death: a start of the agent takes most of it.
_LIMIT = 60
# Seconds between two looks; a look at everything starts a dozen programs.
_INTERVAL = 0.1


class Unit:
    """Starts the agent again whenever it has ended, until :meth:`close`.

    :param starter: subprocess.Popen of :mod:`program`
    :ivar ends: exit statuses so far, a list
    :ivar before_start: what is done before each further start
    """

    def __init__(self, starter):
        self._starter = starter
        # A signal goes to the last process, not to the one before it.
        self._lock = threading.Lock()
        self._closing = False
        self.ends = []
        self.before_start = lambda: None
        self._pid = None
        self._start()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _start(self):
        self._starter.stdin.write('\n')
        self._starter.stdin.flush()
        self._pid = int(self._starter.stdout.readline())

    def _run(self):
        while True:
            status = int(self._starter.stdout.readline())
            with self._lock:
                self.ends.append(status)
                self._pid = None
                if self._closing:
                    return
                self.before_start()
                self._start()

    def send(self, number):
        """Send a signal to the present agent, if there is one."""
        with self._lock:
            if self._pid:
                os.kill(self._pid, number)

    def kill(self):
        """End the agent by SIGKILL for good."""
        with self._lock:
            self._closing = True
        self.send(signal.SIGKILL)
        self._thread.join()

    def close(self):
        """End the agent for good and in good order; gives its status.

        An agent that does not end is killed.
        """
        with self._lock:
            self._closing = True
        self.send(signal.SIGTERM)
        self._thread.join(_LIMIT)
        if self._thread.is_alive():
            self.send(signal.SIGKILL)
            self._thread.join()
        return self.ends[-1]


class CrashTestCase(base.SwapTestCase):
    """With a third router in a network of its own, at first elsewhere.

    :cvar OPTIONS: lines for the section [DEFAULT]
    """

    OPTIONS = ''

    def setUp(self):
        super().setUp()
        self.add_gamma()
        self.socket = os.path.join(self.directory, 'control.ctl')
        self.order = os.path.join(self.directory, 'order')
        self.rules(more=False)
        self.conf = os.path.join(self.directory, 'agent.conf')
        with open(self.conf, 'w') as opened:
            opened.write(_CONF.format(
                directory=self.directory, options=self.OPTIONS,
                nb=self.nb.remote, sb=self.sb.remote,
                ovs=self.switch.remote, ovs_rundir=self.switch.rundir,
                frr_rundir=self.host.rundir))
        self.env['PATH'] = self.host.bindir + ':' + os.environ['PATH']
        self.env['CRASH_ORDER'] = self.order
        self.starter = self.start_starter()

    def add_gamma(self, bind=True):
        """The third router in NB.

        :param bind: see :meth:`cloud.Cloud.add_router`
        """
        self.cloud.add_router(GAMMA, ('198.18.0.1/24',), OTHER,
                              mac='fa:16:3e:00:00:03', bind=bind)
        self.cloud.add_nat(GAMMA, '198.18.0.10')

    def command(self, *args):
        return [sys.executable, '-W', 'ignore', '-m', program.__name__, *args]

    def unit(self):
        """The agent under supervision.

        It ends with the test, and removes what it has made: the other tests
        of the class have the same node.
        """
        unit = Unit(self.starter)
        self.addCleanup(unit.close)
        return unit

    def start_starter(self):
        """The process that starts agents."""
        with open(os.path.join(self.directory, 'log'), 'ab') as log:
            made = subprocess.Popen(
                self.node.inside(*self.command('--config-file', self.conf)),
                env=self.env, cwd=self.directory, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, text=True)
        self.addCleanup(made.stdout.close)
        self.addCleanup(made.wait)
        # Its input ends, and so does it.
        self.addCleanup(made.stdin.close)
        return made

    def rules(self, more):
        """Write the rules of port forwards.

        :param more: with a second port and a second VIP
        """
        def rule(port):
            return (f'{{proto: tcp, port: {port:d}, dest_addr: '
                    f'{places.DESTINATION}, '
                    f'dest_port: {places.FORWARD.dest_port:d}}}')
        vips = [(places.FORWARD.vip, [places.FORWARD.port, *([81] * more)])]
        vips += [(SECOND, [80])] * more
        path = os.path.join(self.directory, 'rules.yaml')
        with open(path + '.new', 'w') as opened:
            opened.write('port_forwards:\n' + ''.join(
                f'- vip: {vip}\n  manage_vip: true\n  rules: '
                f'[{", ".join(map(rule, ports))}]\n' for vip, ports in vips))
        os.rename(path + '.new', path)

    # -- orders to die ----------------------------------------------------

    def give_order(self, backend='', moment=program.BEFORE, victim='agent'):
        """See :mod:`program`."""
        with open(self.order + '.new', 'w') as opened:
            json.dump({'backend': backend, 'moment': moment,
                       'victim': victim}, opened)
        os.rename(self.order + '.new', self.order)

    def withdraw_order(self):
        """Whether the order was not carried out, which now cannot be any
        more.
        """
        try:
            os.unlink(self.order)
        except FileNotFoundError:
            return False
        return True

    # -- traffic ----------------------------------------------------------

    def right(self):
        """Traffic that no change concerns, dict of name to Probe."""
        forward = places.FORWARD
        return {'in': probes.Probe(self, self.client, 'ping',
                                   places.ALPHA.fips[0]),
                'forward': probes.Probe(self, self.client, 'connect',
                                        forward.vip, str(forward.port))}

    def lossless(self, traffic, unit):
        """End the traffic, of which nothing may have been lost."""
        found = {name: probe.end() for name, probe in traffic.items()}
        print(f'{self.id()}: sent and lost: {found}; {len(unit.ends)} deaths')
        for name, (sent, _lost) in found.items():
            self.assertGreater(sent, 0, name)
            self.assertEqual([], traffic[name].why, name)

    # -- what there is ----------------------------------------------------

    def on_node(self):
        """All that the agent makes on the node, a set of lines."""
        found = {_RELAY.sub(r'\1relay', line) for line in self.state()}
        return found | {f'nft: {line.strip()}' for line in self.node.run(
            'nft', '-s', 'list', 'ruleset').splitlines()}

    def everything(self):
        """All that the agent makes, on the node and in NB, a set of lines.

        UUIDs are left out, and so are the numbers of priorities.
        """
        found = self.on_node()
        for table in 'Logical_Router_Static_Route', 'Static_MAC_Binding':
            for row in self.nb.rows(table):
                found.add(f'{table}: ' + ' '.join(
                    f'{column}={value}' for column, value
                    in sorted(row.items()) if column not in (
                        '_uuid', '_version')))
        members = sorted(self.nb.rows('Gateway_Chassis'), reverse=True,
                         key=lambda row: row['priority'])
        for port in sorted({row['name'].partition('_')[0]
                            for row in members}):
            found.add(f'order: {port} ' + ' '.join(
                row['chassis_name'] for row in members
                if row['name'].startswith(port + '_')))
        return found

    def well(self):
        """Whether the agent has done all, and nothing changes by itself."""
        return self.reasons() == [] and self.at_rest()

    def reasons(self):
        """Why the agent is not ready, a list; None without an agent."""
        return (self.ask('health') or {'reasons': None})['reasons']

    def at_rest(self):
        """Whether no pass is under way, and no port is being handed over.

        A handover ends by time alone, and its forwarding goes with it.
        """
        status = self.ask('status', '--json')
        return status and not status['working'] and {'none'} == {
            port['handover'] for group in status['groups']
            for port in group['ports']}

    def ask(self, command, *argv):
        """What the agent says, JSON values; None without an agent."""
        try:
            return json.loads(client.call(self.socket, command, list(argv),
                                          programs.LIMIT))
        except client.NoAgent:
            return None

    def settled(self):
        """Wait until the agent has nothing to do; gives all there is."""
        before = set()

        def rests():
            nonlocal before
            if not self.well():
                return False
            before, found = self.everything(), before
            return found == before and self.well()
        self.patiently(rests, self.log)
        return before

    def becomes(self, wanted):
        """Wait until everything is as in another run."""
        found = set()

        def same():
            nonlocal found
            if not self.well():
                return False
            found = self.everything()
            return found == wanted and self.well()
        self.patiently(same, lambda: (
            f'missing: {sorted(wanted - found)}\n'
            f'too much: {sorted(found - wanted)}\n{self.log()[-5000:]}'))

    def patiently(self, condition, what):
        """Wait without taking the processors from the agent."""
        return waiting.wait_until(
            what, condition, _LIMIT, _INTERVAL, failure=AssertionError,
            not_yet=(*waiting.NOT_YET, subprocess.CalledProcessError))

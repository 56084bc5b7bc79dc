# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Base of the lab's tests: one cloud for each class, with the agents in it.

What a failure needs to be understood is attached to it: what the agents
said last, routes, rules and flows of the gateways, what the spine knows.
"""

import os
import re
import signal
import time

import testtools
from testtools import content

from lab import cloud as clouds
from lab import dump
from lab import echo
from lab import families
from lab import flat
from lab import forks
from lab import neutron
from lab import node as nodes
from lab import plan
from lab import probe
from lab import processor
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.lab import objects
from ovn_network_agent.tests.lab import reports

SETTLE, VRF_TABLE = objects.SETTLE, objects.VRF_TABLE
_CHANGE = re.compile(
    r' INFO ovn_network_agent\.engine\.application \[-\] '
    r'((created|updated|deleted) .*)')
# Seconds without work in a test that are printed.
WORTH_TELLING = 2.0
# VLAN tags of the kinds of provider networks.
SEGMENTS = {'flat': 0, 'vlan': 101}


@needs.needs(os.environ.get('LAB_MACHINE'),
             'makes hosts, and so needs the machine of the lab')
class LabTestCase(objects.Objects, testtools.TestCase):
    """A class of tests that share a cloud.

    :cvar GATEWAYS: number of gateway nodes
    :cvar METHOD: announce method of the agents
    :cvar SEGMENT: kind of the provider network, a key of :data:`SEGMENTS`
    :cvar FAMILY: version of the provider network and of all that is behind it,
        4 or 6
    :cvar SCHEDULER: how Neutron schedules gateways
    :cvar FURTHER: whether gateways have a second provider bridge
    :cvar VRF: whether BGP of the gateways is in a VRF, or in the default VRF
    :cvar AGENTS: whether :meth:`setUpClass` starts the agents
    :cvar ROOT: root file system of the gateway nodes, see
        :class:`lab.node.Node`
    :cvar CONFIG: more configuration of the agents; what is not in it, the
        drivers above all, is as an operator has it by default
    :cvar cloud: the Cloud, the same for all tests of the class
    :cvar expected_leaks: packets that tests sent to the sink on purpose
    """

    GATEWAYS = 2
    METHOD = 'static'
    SEGMENT = 'flat'
    FAMILY = 4
    SCHEDULER = neutron.GATEWAY_CHASSIS
    FURTHER = False
    VRF = True
    AGENTS = True
    ROOT = None
    CONFIG = {}

    cloud = None
    expected_leaks = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        forks.use()
        cls.addClassCleanup(forks.use, False)
        cls.cloud = (clouds.Cloud if cls.VRF else flat.FlatCloud)(
            gateways=cls.GATEWAYS, scheduler=cls.SCHEDULER, root=cls.ROOT,
            further=cls.FURTHER, version=cls.FAMILY,
            vlan=SEGMENTS[cls.SEGMENT], wait_for_bgp=False)
        cls.addClassCleanup(cls.cloud.close)
        try:
            cls.build()
            cls.cloud.ensure_bgp()
            if cls.AGENTS:
                cls.cloud.start_agents(cls.configuration())
        except nodes.NodeError as e:
            raise nodes.NodeError(f'{e}\n{reports.text(cls.cloud)}') from e

    @classmethod
    def build(cls):
        """Routers, machines and floating IPs that the tests share."""

    @classmethod
    def configuration(cls, method=None):
        """Configuration of the agents."""
        config = {group: dict(values)
                  for group, values in cls.CONFIG.items()}
        config.setdefault('fip_route', {})['announce_method'] = (
            method or cls.METHOD)
        if not cls.VRF:
            config.setdefault('frr', {})['vrf_name'] = ''
        return config

    def setUp(self):
        super().setUp()
        self.addCleanup(_tell_idle, processor.Idle())
        self.addOnException(self._attach)
        self.addCleanup(self._nothing_leaked)

    def _nothing_leaked(self):
        """No packet with a provider address left by the wrong door."""
        expected, leaked = self.expected_leaks, self.cloud.sink.leaked()
        type(self).expected_leaks = leaked
        if leaked != expected:
            self.fail(f'{leaked - expected:d} packets leaked to the '
                      f'management network: {self.cloud.sink.leaks()}')

    # -- things in the cloud ----------------------------------------------

    @classmethod
    def machine(cls, router, fip=True, host=None):
        """A machine that answers probes, with a floating IP or without.

        :param host: name of its node, default a compute node
        :returns: (Vm, FloatingIp or None)
        """
        vm = cls.cloud.add_vm(router, host)
        echo.start(vm.node)
        return vm, (cls.cloud.neutron.add_fip(router, vm.port) if fip
                    else None)

    def floating_ip(self, router, port, address=None):
        """A floating IP that is gone again at the end of the test."""
        return self.floating_ips(router, [(address, port)])[0]

    def floating_ips(self, router, targets):
        """Floating IPs, in one transaction, for this test only.

        :param targets: list of (address or None, Port)
        """
        allocate = self.cloud.neutron.allocate
        fips = self.cloud.neutron.add_fips(
            router, [(address or allocate(router.provider), port)
                     for address, port in targets])
        self.addCleanup(self._remove, router, fips)
        return fips

    def _remove(self, router, fips):
        self.cloud.neutron.remove_fips(router, fips)
        owner = self.cloud.neutron.owner(router)
        if self.running(owner):
            for fip in fips:
                self.cloud.wait_withdrawn(fip.address, SETTLE)
            self.wait_gone(owner, *(fip.address for fip in fips))

    def running(self, name):
        """Whether the agent of a node runs."""
        agent = self.cloud.agents.get(name)
        return bool(agent and agent.process and
                    agent.process.poll() is None and
                    'agent' in self.cloud[name].services)

    def reconfigure(self, name, group, **values):
        """Other values in the file of an agent, by SIGHUP if it runs."""
        agent = self.cloud.agents[name]
        agent.config.setdefault(group, {}).update(values)
        agent.write_config()
        if self.running(name):
            mark = self.mark(name)
            agent.process.send_signal(signal.SIGHUP)
            self.wait_said(name, 'onfiguration', mark)

    def replace_controller(self, name):
        """Kill ovn-controller of a node, and start it again.

        Without the option, ovn-controller removes all flows at its start, and
        makes them again (ovn-controller(8)).
        """
        node, option = self.cloud[name], 'ovn-ofctrl-wait-before-clear'
        node.run(['ovs-vsctl', 'set', 'Open_vSwitch', '.',
                  f'external_ids:{option}=5000'])
        self.addCleanup(node.run, ['ovs-vsctl', 'remove', 'Open_vSwitch', '.',
                                   'external_ids', option])
        node.stop('ovn-controller', signal.SIGKILL)
        self.cloud.start_controller(name)

    # -- the kind of the cloud --------------------------------------------

    @property
    def family(self):
        """The :class:`families.Family` of the cloud."""
        return families.FAMILIES[self.FAMILY]

    @property
    def device(self):
        """Name of the kernel's device in the provider network."""
        tag = SEGMENTS[self.SEGMENT]
        return f'{plan.BRIDGE}.{tag:d}' if tag else plan.BRIDGE

    @property
    def kind(self):
        """The cloud and the announce method, in words."""
        where = '' if self.VRF else ', default VRF'
        return f'{self.METHOD}, {self.SEGMENT}, IPv{self.FAMILY:d}{where}'

    # -- traffic ----------------------------------------------------------

    def reach(self, node, kind, target, count=5, patience=SETTLE, **kwargs):
        """Probe a target that has to answer every time.

        :param patience: seconds to wait for steady answers before, to further
            probes; 0 sends no probe more than those that count
        :returns: probe.Report
        """
        report = probe.ping(node, target, count, 0.02, kind, patience=patience,
                            **kwargs)
        self.assertEqual((count, count, 0),
                         (report.sent, report.received, report.lost),
                         str(report))
        return report

    @property
    def client(self):
        """The Node outside."""
        return self.cloud['client']

    def probing(self, target, kind='icmp', node=None, interval=0.02):
        """Probes from the client, answered already.

        :returns: context manager with the Probe
        """
        return probe.Probe(node or self.client, kind, target, interval,
                           patience=SETTLE)

    def lossless(self, running):
        """End probing in which nothing may have been lost."""
        running.wait_answered(SETTLE, after=time.monotonic())
        report = running.stop()
        self.assertEqual(0, report.lost, (
            f'{report}; the first lost one was sent {report.first_loss} s, '
            f'the last one {report.last_loss} s after {report.started}'))
        self.assertGreater(report.received, 0)
        return report

    # -- what an agent did ------------------------------------------------

    def mark(self, name):
        """A position in the log of an agent, for :meth:`changes`."""
        return len(self.cloud.agents[name].log())

    def said(self, name, since=0):
        """What an agent logged from a mark on."""
        return self.cloud.agents[name].log()[since:]

    def changes(self, name, since=0):
        """What an agent changed from a mark on, a list of text."""
        return [match[1] for match in _CHANGE.finditer(
            self.said(name, since))]

    def wait_said(self, name, text, since=0, timeout=SETTLE):
        """Wait until an agent has logged something."""
        nodes.wait_until(f'the agent on {name} says "{text}"',
                         lambda: text in self.said(name, since), timeout)

    def lock_holder(self, lock):
        """Name of the gateway whose agent got a lock of NB last."""
        said = f'{lock} of OVN_Northbound: held'
        # Lines begin with the time.
        return max(self.cloud.agents, key=lambda name: [
            line for line in self.said(name).splitlines()
            if said in line][-1:])

    # -- state as a whole -------------------------------------------------

    @classmethod
    def state(cls, name):
        """Everything on a node that an agent could leave behind.

        Sysctls are excepted, and that the bridge is up: nobody knows
        whether that was wanted for another reason as well.
        """
        found = dump.node(cls.cloud[name])
        found['ip -br link'] = sorted(
            line.split()[0] for line in found['ip -br link'])
        # A device that is made again has another index.
        for command in ('ip -o -4 addr', 'ip -o -6 addr'):
            found[command] = sorted(
                line.partition(':')[2] for line in found[command])
        found['ip -4 route show table all'] = sorted(
            re.sub(r' nhid \d+', '', line).rstrip() for line in
            cls.cloud[name].out('ip', '-4', 'route', 'show', 'table',
                                 'all').splitlines())
        return without_fabric(found)

    # -- what a failure needs ---------------------------------------------

    def _attach(self, _exc_info):
        for name, text in reports.reports(self.cloud):
            self.addDetail(name, content.text_content(text))


def without_fabric(state):
    """A dump without what BGP brings from elsewhere, at its own time."""
    return {name: [line for line in lines if ' proto bgp ' not in line]
            for name, lines in state.items()}


def _tell_idle(since):
    """Print how long a test waited while the machine had nothing to do."""
    took, idle = since.seconds()
    if idle > WORTH_TELLING:
        note(f'idle for {idle:.1f} of {took:.1f} s')


def note(text):
    """Print something measured."""
    print(f'    {text}', flush=True)

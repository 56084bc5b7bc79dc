# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tests against real zebra, staticd and bgpd.

They run in a network namespace and a directory of their own and are ended
by their process ids.  A second bgpd is the neighbour that learns what is
announced.
"""

import atexit
import contextlib
import json
import os
import shutil
import signal
import subprocess
import unittest

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.conf.options import frr as options
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import channel
from ovn_network_agent.privileged.routing import prefix_lists
from ovn_network_agent.tests import configs
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.frr import daemons

holder = daemons.holder
wait_until = daemons.wait_until

BRIDGE = 'br-ex'
LIST = 'ANNOUNCED-NETWORKS'
# A prefix list that is referenced and does not exist denies everything.
_BGP = '''
router bgp 65001{vrf}
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 neighbor 10.0.0.2 remote-as 65002
 neighbor 10.0.0.2 timers connect 1
 address-family ipv4 unicast
  redistribute static{more}
  neighbor 10.0.0.2 prefix-list {list} out
'''


def bgp(vrf='', *more):
    """The configuration of bgpd.

    :param vrf: name of the VRF, '' for the default VRF
    :param more: lines of the address family
    :returns: text
    """
    return _BGP.format(vrf=f' vrf {vrf}' if vrf else '', list=LIST,
                       more=''.join(f'\n  {line}' for line in more))


BGP = bgp()
_NEIGHBOUR = '''
router bgp 65002
 bgp router-id 10.0.0.2
 no bgp ebgp-requires-policy
 neighbor 10.0.0.1 remote-as 65001
 neighbor 10.0.0.1 timers connect 1
'''

# Milliseconds, see Frr.wait_for_session.
_SESSION_AGE = 2000


class Frr(daemons.Daemons):
    """zebra, staticd and bgpd, a bridge, and a BGP neighbour.

    :cvar bgp: configuration of bgpd
    """

    bgp = BGP

    def __init__(self):
        super().__init__()
        self.neighbour = daemons.Daemons()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def make_links(self):
        """The bridge, and the uplink to the neighbour."""
        for command in (
                f'link add {BRIDGE} type bridge',
                f'address add 192.0.2.1/24 dev {BRIDGE}',
                f'link set {BRIDGE} up',
                'link add uplink type veth peer name uplink netns '
                f'{self.neighbour.namespace.pid}',
                'address add 10.0.0.1/24 dev uplink', 'link set uplink up'):
            self.ip(*command.split())
        for command in ('address add 10.0.0.2/24 dev uplink',
                        'link set uplink up'):
            self.neighbour.ip(*command.split())

    def _start(self):
        self.make_links()
        if holder() == 'mgmtd':
            self.start('mgmtd')
        self.start('zebra')
        self.start('staticd')
        self.start('bgpd', config=self.bgp)
        self.start_neighbour()
        self.wait_for_session()

    def start_neighbour(self):
        """Only its bgpd: the neighbour forwards nothing."""
        self.neighbour.start('bgpd', '-Z', config=_NEIGHBOUR)

    def restart_bgpd(self):
        """bgpd comes back with its start configuration."""
        self.kill('bgpd')
        self.start('bgpd', config=self.bgp)

    def stop(self):
        self.neighbour.stop()
        super().stop()

    def learned(self):
        """What the neighbour has learned, a set of prefixes."""
        shown = json.loads(
            self.neighbour.ask('bgpd', 'show ip bgp json') or '{}')
        return set(shown.get('routes', ()))

    def version(self, prefix):
        """The version of a route at the neighbour, int; None without one.

        The number changes with each withdrawal that the neighbour gets.
        """
        return json.loads(self.neighbour.ask(
            'bgpd', f'show bgp ipv4 unicast {prefix} json')).get('version')

    def wait_for_session(self):
        """Until the session is up and takes withdrawals.

        bgpd of FRR 8.4 loses the withdrawal of a route for good when it was
        announced with a soft refresh in the first second of a session and
        withdrawn before that second was over.  So a second has to be over:
        bgpd itself says how old the session is.
        """
        wait_until(self._established, 'the BGP session', 30)

    def _established(self):
        shown = json.loads(
            self.ask('bgpd', 'show bgp vrf all summary json') or '{}')
        return any(
            peer['state'] == 'Established' and
            peer['peerUptimeMsec'] >= _SESSION_AGE for vrf in shown.values()
            for peer in vrf.get('ipv4Unicast', {}).get('peers', {}).values())


class Kept:
    """The FRR of the last class, for the next class that has the same.

    To start it, until its neighbour takes withdrawals, takes three seconds.
    """

    def __init__(self):
        self._frr = self._begun = None
        atexit.register(self.stop)

    def take(self, make):
        """An FRR as at its start.

        :param make: what makes one
        """
        frr, begun = self._frr, self._begun
        if type(frr) is make:
            self._frr = None
        else:
            self.stop()
            frr = make()
            begun = self._look(frr)
        return frr, begun

    def give(self, frr, begun):
        """Keep an FRR, or stop one that is not as at its start."""
        self.stop()
        self._frr, self._begun = frr, begun
        try:
            frr.restore_vtysh()
            if self._look(frr) != begun:
                self.stop()
        except (OSError, subprocess.SubprocessError):
            self.stop()

    def stop(self):
        if self._frr:
            self._frr.stop()
        self._frr = None

    @staticmethod
    def _look(frr):
        return frr.running(), frr.namespace.sh(
            'ip -br link; ip -br address; ip rule; '
            'ip route show table all | sort')


_KEPT = Kept()


@needs.needs(
    os.geteuid() == 0 and shutil.which('vtysh') and
    os.path.exists(os.path.join(daemons.DAEMONS, 'bgpd')),
    'needs root and FRR')
class FrrTestCase(unittest.TestCase):
    """With FRR in the default VRF and without any route of ours.

    :cvar make: what makes the FRR of the class
    :cvar vrf: name of the VRF, '' for the default
    """

    make = Frr
    vrf = ''

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.frr, begun = _KEPT.take(cls.make)
        cls.addClassCleanup(_KEPT.give, cls.frr, begun)
        if isinstance(cls.frr, Frr):
            cls.frr.wait_for_session()

    def setUp(self):
        super().setUp()
        privileged.frr.set_client_mode(False)
        self.addCleanup(privileged.frr.set_client_mode, True)
        # The root side reads the global configuration.
        cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
        self.conf = configs.conf(bridge_dev=BRIDGE, frr__vrf_name=self.vrf)
        self.root_side(frr_run_dir=self.frr.rundir, vrf_name=self.vrf)
        self.path(self.frr.bindir)
        self.addCleanup(self.clear)
        self.addCleanup(prefix_lists.forget_go)

    def enter_namespace(self):
        """Change the kernel of FRR's namespace, in this process."""
        privileged.kernel.set_client_mode(False)
        self.addCleanup(privileged.kernel.set_client_mode, True)
        self.enterContext(namespaces.entered(self.frr.namespace.path))
        # Another test may have left its socket open elsewhere.
        channel.close()
        self.addCleanup(channel.close)

    def former_leak(self, network):
        """The way back of a network, as the Go program has left it.

        In FRR's namespace, see :meth:`enter_namespace`.
        """
        for create, remove in (
                ('link add veth-default type veth peer name veth-provider',
                 'link del veth-default'),
                ('link set veth-default up', ''),
                ('link set veth-provider up', ''),
                (f'route add {network} dev veth-provider table 77 proto 44',
                 ''),
                (f'rule add pref 2000 from {network} table 200 protocol 0',
                 f'rule del pref 2000 from {network} table 200')):
            subprocess.run(['ip', *create.split()], check=True)
            if remove:
                # An agent may have removed it.
                self.addCleanup(subprocess.run, ['ip', *remove.split()],
                                stderr=subprocess.DEVNULL)

    def path(self, directory):
        """Have a directory with a vtysh searched first."""
        before = os.environ['PATH']
        os.environ['PATH'] = directory + ':' + before
        self.addCleanup(os.environ.__setitem__, 'PATH', before)

    def root_side(self, **values):
        """Options that the root side reads."""
        for name, value in values.items():
            cfg.CONF.set_override(name, value, 'frr')
            self.addCleanup(cfg.CONF.clear_override, name, 'frr')

    def lose_bridge(self):
        """Set the bridge down, until zebra has no static route."""
        self.frr.ip('link', 'set', BRIDGE, 'down')
        self.addCleanup(self.frr.ip, 'link', 'set', BRIDGE, 'up')
        wait_until(
            lambda: not json.loads(
                self.frr.vtysh('show ip route static json')), 'inactive')

    @contextlib.contextmanager
    def wedged(self, daemon):
        """A daemon that hangs, for which the root side waits 1 s.

        Only here is that limit so short: with both processors busy a vtysh
        takes longer than that.
        """
        usual = cfg.CONF.frr.vtysh_timeout
        self.root_side(vtysh_timeout=1)
        self.frr.signal(daemon, signal.SIGSTOP)
        try:
            yield
        finally:
            self.frr.signal(daemon, signal.SIGCONT)
            self.root_side(vtysh_timeout=usual)

    def fix_limits(self, conf):
        """Start the root side with a whole configuration."""
        limits.fix(conf)
        self.addCleanup(limits.forget)

    def clear(self):
        """Remove all static routes and the prefix list."""
        found = self.frr.lines()
        unwanted = ['no ' + line.strip() for line in sorted(found)
                    if line.startswith(('ip route ', 'ipv6 route '))]
        for family in 'ip', 'ipv6':
            if any(line.startswith(f'{family} prefix-list {LIST} ')
                   for line in found):
                unwanted.append(f'no {family} prefix-list {LIST}')
        if unwanted:
            self.frr.configure(*unwanted)

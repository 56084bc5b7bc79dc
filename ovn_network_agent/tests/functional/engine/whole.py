# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The whole kernel part of an agent on a real kernel.

The drivers, the pass and the kernel backends are the real ones; flows, FRR
and OVN are a world of objects (tests.unit.world).  So everything that an
agent goes through in its life can be played in a network namespace.
"""

import re

from ovn_network_agent import model
from ovn_network_agent.backends.kernel import address
from ovn_network_agent.backends.kernel import link
from ovn_network_agent.backends.kernel import neighbour
from ovn_network_agent.backends.kernel import route
from ovn_network_agent.backends.kernel import rule
from ovn_network_agent.conf import settings
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import reconciler
from ovn_network_agent.ovn import local_state
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.runtime import loader
from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds

KERNEL = (link.LinkBackend, link.SysctlBackend, address.AddressBackend,
          neighbour.NeighbourBackend, route.RouteBackend, rule.RuleBackend)
NAMES = tuple(backend.name for backend in KERNEL)

# How much of a line depends on the moment.
_MOMENTARY = re.compile(r' (linkdown|nhid \d+)\b')


class Agent:
    """One run of an agent; a second one on the same kernel is a restart.

    :param conf: the oslo.config ConfigOpts
    :param world: tests.unit.world.World, the systems that are not the kernel
    """

    def __init__(self, conf, world=None):
        self.conf = conf
        # Its root side is as old as it is; the test case forgets that.
        limits.fix(conf)
        self.world = world or worlds.World()
        self.reconciler = reconciler.Reconciler(
            [worlds.driver('fip_route', conf),
             worlds.driver('veth_leak', conf)],
            [*(backend(conf) for backend in KERNEL),
             *(b for b in worlds.backends(self.world)
               if b.name not in NAMES)],
            lambda reason: None)

    def run(self, *routers, phase=model.Phase.RUNNING, groups=(), **kwargs):
        """A pass, on the devices that there are.

        :returns: :class:`outcome.Outcome`
        """
        # As a reload would have it.
        self.reconciler.wanted.drivers = loader.renewed(
            self.reconciler.wanted.drivers, settings.live(self.conf))
        return self.reconciler.run(passes.Pass(cloud.snapshot(
            *routers, groups=groups, phase=phase,
            devices=local_state.relevant_devices(self.conf, ())),
            **{'full': True, **kwargs}))


class WholeTestCase(base.KernelTestCase):
    """With the bridge up, and no addresses of IPv6 by themselves."""

    # What our drivers want is permitted without.
    driver_devices = ()

    def setUp(self):
        super().setUp()
        for name in ('default', 'br-ex', 'br-ex-peer'):
            self.set_sysctl(f'net/ipv6/conf/{name}/addr_gen_mode', '1')
        self.ip('link set br-ex up')
        self.ip('link set br-ex-peer up')

    def settled(self, outcome):
        """That a pass reached all it wanted."""
        self.assertEqual([], outcome.degraded)
        return outcome

    def state(self):
        """Everything in the kernel that an agent could leave or take.

        :returns: set of lines as ip(8) prints them
        """
        lines = set()
        macs = re.compile(r'(?<= lladdr )\S+')
        names = {shown['address']: shown['ifname']
                 for shown in self.shown('link show') if 'address' in shown}
        for command in ('-4 -N -d route show table all',
                        '-6 -N -d route show table main',
                        '-4 -N rule show', '-6 -N rule show',
                        '-o address show', '-N neighbour show nud permanent',
                        '-6 -N neighbour show proxy'):
            for line in self.ip(command).splitlines():
                line = re.sub(r'^\d+: (?=\S+ +inet)', '', line)
                # A pair that is made again has others.
                line = macs.sub(lambda m: names.get(m[0], m[0]), line)
                lines.add(f'{command.split()[-2]}: '
                          f'{_MOMENTARY.sub("", line).strip()}')
        for shown in self.shown('link show'):
            master, alias = shown.get('master'), shown.get('ifalias')
            up = 'UP' in shown['flags']
            lines.add(f'link: {shown["ifname"]} {master} {alias} {up}')
        return lines

    def assert_state(self, wanted):
        """That the kernel is as it was."""
        found = self.state()
        self.assertEqual(([], []), (sorted(wanted - found),
                                    sorted(found - wanted)))

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A gateway: drivers, a small stateful world and a reconciler."""

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.conf import settings
from ovn_network_agent.drivers import fip_route
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import reconciler
from ovn_network_agent.runtime import loader
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds

FIP = '198.51.100.10'
DST = FIP + '/32'
ROUTE = resources.Ref('kernel_route', (254, DST))
HAIRPIN = resources.Ref('flow', ('br-ex', 910, 3, 4, DST))
ANNOUNCEMENT = resources.Ref('announcement', ('vrf-provider', DST))
PROOF = resources.Ref('advertised', (cloud.router().uuid,))


class Counting(fip_route.FipRouteDriver):
    """Counts what it is asked, and raises where a test says so."""

    def __init__(self, name, conf):
        super().__init__(name, conf)
        # UUIDs of routers, and addresses.
        self.asked = []
        self.asked_addresses = []
        self.raises_for = set()

    def resources(self, subject, node):
        name = ''
        if isinstance(subject, model.Router):
            name = subject.uuid
            self.asked.append(name)
        elif isinstance(subject, model.ServedAddress):
            name = subject.address
            self.asked_addresses.append(name)
        if name in self.raises_for:
            raise RuntimeError('a bug')
        return super().resources(subject, node)


class Gateway:
    """Drivers, a world and a reconciler between them.

    :param threads: function(wake) that makes an :class:`executor.Threads`
    :ivar world: :class:`worlds.World`
    """

    def __init__(self, backends=None, world=None, threads=executor.Threads,
                 **options):
        self.world = world or worlds.World()
        self.conf = worlds.conf(**options)
        self.fip_route = worlds.driver('fip_route', self.conf, Counting)
        self.drivers = [self.fip_route, worlds.driver('veth_leak', self.conf)]
        self.woken = []
        self._make_threads = threads
        self.backends = backends or worlds.backends(self.world)
        self.start()

    def set(self, option, value, group):
        """Have an option changed by a reload."""
        self.conf.set_override(option, value, group=group)
        self.drivers = loader.renewed(self.drivers, settings.live(self.conf))
        self.fip_route = self.drivers[0]
        self.reconciler.wanted.drivers = self.drivers

    def start(self):
        """A new reconciler on the same world, as after a restart."""
        self.clock = 1000.0
        self.threads = self._make_threads(self.woken.append)
        self.reconciler = reconciler.Reconciler(
            self.drivers, self.backends, self.woken.append,
            lambda: self.clock, self.threads)

    def run(self, *routers, full=False, stale=(), prune=True, urgent=False,
            **node):
        return self.reconciler.run(passes.Pass(
            cloud.snapshot(*routers, **node), stale, full, prune,
            urgent=urgent))

    def backend(self, name):
        return next(b for b in self.backends if b.name == name)

    def addresses(self):
        """What is announced, as prefixes."""
        return {key[1] for key in self.world.found(resources.Announcement)}


class ReconcilerTestCase(base.BaseTestCase):

    def gateway(self, **options):
        made = Gateway(**options)
        self.addCleanup(lambda: made.reconciler.close())
        return made

    def announcing(self):
        """A gateway that announces the floating IP of one router."""
        made = self.gateway()
        made.run(cloud.router(fips=[FIP]))
        return made


class OneGatewayTestCase(ReconcilerTestCase):
    """With a gateway that has made no pass."""

    def setUp(self):
        super().setUp()
        self.made = self.gateway()

    def run_pass(self, **options):
        """A pass that wants the floating IP of one router."""
        return self.made.run(cloud.router(fips=[FIP]), **options)

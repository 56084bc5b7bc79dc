# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The path of one floating IP: the page shows what the program does."""

import os
import subprocess

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends.kernel import route
from ovn_network_agent.drivers import fip_route
from ovn_network_agent.drivers import gateway_drain
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import channel
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services
from ovn_network_agent.tests.functional.service import growth
from ovn_network_agent.tests.functional.service import tracing

PICTURE = (tracing.packages.ROOT / 'doc' / 'source' / 'contributor' /
           'path-of-a-floating-ip.txt')
BEGINS = (('ovsdb/replica.py', 'Idl.notify'),
          ('ovn/events.py', 'WakeEvent.run'),
          ('runtime/loop.py', 'Loop._guarded_pass'))
REST = ('runtime/loop.py', 'Loop._wait')
END = ('privileged/network/kernel_routes.py', 'set_routes')


class PathTest(services.ServiceTestCase):
    """A real pass, in default VRF mode, whose routes are the kernel's."""

    drivers = {'fip_route': fip_route.FipRouteDriver,
               'gateway_drain': gateway_drain.GatewayDrainDriver}
    real = {**services.ServiceTestCase.real, 'route': route.RouteBackend}

    def setUp(self):
        super().setUp()
        self.enterContext(namespaces.new())
        # An agent in this process, of a test before, has one elsewhere.
        channel.close()
        self.addCleanup(channel.close)
        subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
        self.trace = tracing.Trace(self, REST)
        self.options = {
            'frr__vrf_name': '', 'fip_route__announce_method': 'kernel',
            'drivers': list(self.drivers)}

    def routed(self, address):
        """Add a floating IP, and wait for its route in the kernel."""
        self.cloud.add_nat('r1', address)
        self.eventually(
            lambda: f'{address}/32' in [
                found.dst for found in routes.read_ours(
                    ownership.ROUTE_PROTOCOL)], address)

    def proved(self, agent):
        """The router has the proof that its addresses are announced."""
        self.eventually(self.routes, 'a default route')
        self.proofs.put(*(
            resources.Advertised(row['_uuid'][1], cloud.OWNER)
            for row in self.nb.rows('Logical_Router', '_uuid')))
        growth.prove(self.nb, cloud.OWNER)
        self.eventually(lambda: [
            route.advertised for seen in agent._view.last.routers
            for route in seen.default_routes] == [cloud.HOSTNAME], 'the proof')

    def traced(self):
        """The trace of one more floating IP, up to the privileged call."""
        agent = self.agent(start=False, **self.options)
        limits.fix(agent._conf)
        self.addCleanup(limits.forget)
        agent.start()
        self.addCleanup(self.cut_short, agent, agent._conf)
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.eventually(lambda: agent.status.is_ready, 'a complete pass')
        self.proved(agent)
        # The states of the gateways come to rest with a second equal view.
        for address in ('198.51.100.21', '198.51.100.22', '198.51.100.23'):
            self.routed(address)
        self.trace.follow(BEGINS, END, ovsdb.DEADLINE)
        self.routed('198.51.100.10')
        self.assertTrue(self.trace.ended.is_set())
        return self.trace

    def test_the_page_shows_it(self):
        trace = self.traced()
        found = tracing.text(trace)
        if os.environ.get('WRITE_PATH'):
            PICTURE.write_text(found)
        self.assertEqual(PICTURE.read_text(), found)
        # No step goes up.
        self.assertEqual([], trace.upward())

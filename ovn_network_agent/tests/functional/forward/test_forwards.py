# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Port forwards of a running agent: from the file to what is there.

Kernel, nftables and FRR are a world.
"""

import os

from ovn_network_agent import resources
from ovn_network_agent.drivers import port_forward
from ovn_network_agent.tests.functional.control import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

FIRST = '192.0.2.53'


class ForwardsTest(base.ControlTestCase):

    drivers = {**base.ControlTestCase.drivers,
               'port_forward': port_forward.PortForwardDriver}

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.directory, 'rules.yaml')

    def write(self, *vips):
        """Put another file in place of the rules."""
        with open(self.path + '.new', 'w') as opened:
            opened.write('port_forwards:\n' + ''.join(f'''\
- vip: {vip}
  manage_vip: true
  rules:
  - {{proto: udp, port: 53, dest_addr: 10.0.0.5}}
''' for vip in vips))
        os.rename(self.path + '.new', self.path)

    def agent(self, **options):
        return super().agent(**{
            'drivers': [*base.DRIVERS, 'port_forward'],
            'port_forward__rules_file': self.path, **options})

    def vips(self):
        """Addresses of VIPs that are there, a set."""
        return {address.partition('/')[0] for _dev, address
                in self.world.found(resources.VipAddress)}

    def states(self):
        """States in the status, by address."""
        try:
            return {vip['address']: (vip['state'], vip['reason'])
                    for vip in self.status()['vips']}
        except base.client.NoAgent:
            return {}

    def all_are(self, state, *vips):
        self.eventually(
            lambda: {vip: found[0] for vip, found in self.states().items()}
            == dict.fromkeys(vips, state), self.states)

    def changes(self, vip):
        """What was done with the address of a VIP, verbs."""
        return [verb for verb, ref in self.world.journal
                if ref.kind == resources.VipAddress.kind and
                ref.key[1].startswith(vip + '/')]

    def test_without_ovn(self):
        """A VIP does not wait for it, unless it is told to."""
        self.write(FIRST)
        for server in (self.nb, self.sb):
            server.pause()
            self.addCleanup(server.resume)
        self.agent()
        self.all_are('announced', FIRST)
        self.assertEqual({FIRST}, self.vips())
        # The end of the agent would wait for them.
        for server in (self.nb, self.sb):
            server.resume()

    def test_a_drain(self):
        """VIPs have no part in it; they go in the clean-up."""
        self.write(FIRST)
        self.cloud.add_router('r1', chassis=base.HERE)
        agent = self.agent(gateway_drain__drain_on_shutdown=True,
                           gateway_drain__drain_timeout=600)
        self.all_are('announced', FIRST)
        self.eventually(lambda: self.seen(), 'the router has been seen')
        agent.stop()
        self.eventually(lambda: self.status()['phase'] == 'draining',
                        self.status)
        self.assertEqual({FIRST}, self.vips())
        self.assertEqual(['create'], self.changes(FIRST))
        # The second one ends the wait.
        agent.stop()
        self.assertTrue(agent.wait(ovsdb.DEADLINE))
        self.assertEqual(['create', 'delete'], self.changes(FIRST))

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What OVN advertises for a router, announced by the agent."""

from ovn_network_agent import resources
from ovn_network_agent.tests.functional.control import base as control
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

FIP, OTHER = (f'198.51.100.{n}' for n in (10, 11))
ROUTER = {'name': 'neutron-r1'}


class AdvertisedTest(control.ControlTestCase):

    schema_changes = {'sb': schemas.with_advertised}

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        for address in (FIP, OTHER):
            self.cloud.add_nat('r1', address)
        self.cloud.say('Logical_Router', ROUTER,
                       options={'dynamic-routing': 'true'})

    def advertise(self, address):
        binding, = self.sb.rows('Port_Binding', where=ovsdb.clauses(
            {'logical_port': 'cr-lrp-r1'}))
        self.sb.transact(ovsdb.insert(
            'Advertised_Route', datapath=binding['datapath'],
            logical_port=binding['_uuid'], ip_prefix=address))

    def becomes(self, wanted, agent):
        self.eventually(
            lambda: self.announced() == {a + '/32' for a in wanted} and
            agent.status.reasons == (),
            lambda: (self.announced(), agent.status.reasons))

    def known(self):
        """What the agent says of each address, (state, why)."""
        return {each['address']: (each['state'], each['why']) for each
                in control.json.loads(self.call('fips'))['addresses']}

    def test_rows_come_and_go(self):
        agent = self.agent(announce__advertised_routes=True)
        # The router is served, with the way out of its machines.
        self.eventually(self.routes, 'the default route')
        self.becomes((), agent)
        self.advertise(FIP)
        self.becomes({FIP}, agent)
        self.eventually(lambda: (254, FIP + '/32') in self.world.found(
            resources.KernelRoute), 'the route to the bridge')
        self.eventually(lambda: self.known()[FIP][0] == 'announced' and
                        self.known()[OTHER][0] == 'omitted', self.known)
        self.assertIn('OVN does not advertise it', self.known()[OTHER][1])
        self.advertise(OTHER)
        self.becomes({FIP, OTHER}, agent)
        self.sb.transact(ovsdb.delete('Advertised_Route',
                                      {'ip_prefix': FIP}))
        self.becomes({OTHER}, agent)

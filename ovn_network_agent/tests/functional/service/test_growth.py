# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An event costs the same beside few and beside many, see property 6."""

import socket

from ovn_network_agent import resources
from ovn_network_agent.drivers import gateway_drain
from ovn_network_agent.drivers import provider_port
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base
from ovn_network_agent.tests.functional.service import growth

# The most by which the count of calls may grow.
LIMIT = 1.3
# Routers, addresses of each, and how many more there are then.
FEW, EACH = 4, 5
ADDRESSES, ROUTERS = 120, 60
# Machines on one network.
FEW_PORTS, MANY_PORTS = 300, 1500


class OneEventTestCase(base.ServiceTestCase):
    """What one address costs that comes, and that goes.

    :ivar calls: a :class:`growth.Calls`
    :ivar gateway: the agent
    """

    def one_event(self):
        """The calls for one address added, and for one removed.

        :returns: list of two dicts, see :attr:`growth.Calls.found`
        """
        found = [], []
        # The states of the gateways come to rest with equal views, and the
        # last rows of NB may come late.  So the smallest counts are kept.
        for _attempt in range(4):
            for comes, kept in zip((True, False), found, strict=True):
                with self.calls.counted() as counts:
                    self.change(comes)
                kept.append(counts)
        return [min(kept, key=lambda counts: counts.total())
                for kept in found]

    def change(self, comes):
        """Add or remove an address, and wait until the pass has ended."""
        passes = self.gateway._loop.passes
        before = passes.last
        if comes:
            self.add()
        else:
            self.remove()
        prefix = growth.address(0) + '/32'
        self.eventually(lambda: (prefix in self.announced()) == comes and
                        passes.last is not before and passes.running is None,
                        prefix, 60)

    def compare(self, before):
        """Fail when the calls have grown, and name where."""
        for few, many in zip(before, self.one_event(), strict=True):
            grown = many.copy()
            grown.subtract(few)
            self.assertLess(many.total(), LIMIT * few.total(),
                            grown.most_common(20))


class GrowthTest(OneEventTestCase):
    """Calls of Python functions, from the replicas to the backends."""

    drivers = {**base.ServiceTestCase.drivers,
               'gateway_drain': gateway_drain.GatewayDrainDriver}

    def setUp(self):
        super().setUp()
        self.calls = growth.Calls(self)
        growth.add_routers(self.cloud, range(FEW), EACH)
        self.gateway = self.agent(
            drivers=list(self.drivers), reconcile_interval=3600,
            gateway_drain__drain_on_shutdown=False,
            metrics__listen=self.unused())
        self.rest(FEW * (EACH + 1), FEW)

    @staticmethod
    def unused():
        """An address and port that nobody listens at."""
        with socket.create_server(('127.0.0.1', 0)) as server:
            return '{}:{}'.format(*server.getsockname())

    def rest(self, addresses, routers):
        """Wait until everything is in place, with the proofs."""
        self.eventually(lambda: len(self.announced()) == addresses,
                        f'{addresses} addresses', 120)
        self.eventually(lambda: len(self.routes()) == routers, 'routes', 60)
        self.proofs.put(*(
            resources.Advertised(row['_uuid'][1], cloud.OWNER)
            for row in self.nb.rows('Logical_Router', '_uuid')))
        growth.prove(self.nb, cloud.OWNER)
        self.eventually(lambda: all(
            route.advertised for seen in self.gateway._view.last.routers
            for route in seen.default_routes), 'proofs')

    def add(self):
        self.cloud.add_nats('g0', [growth.address(0)])

    def remove(self):
        self.cloud.remove_nat('g0', growth.address(0))

    def test_beside_many_addresses(self):
        """Also of the same router."""
        before = self.one_event()
        for number in range(FEW):
            self.cloud.add_nats(f'g{number}', [growth.address(each) for each in
                                range(5000 + number * ADDRESSES,
                                      5000 + (number + 1) * ADDRESSES)])
        self.rest(FEW * (EACH + ADDRESSES + 1), FEW)
        self.compare(before)

    def test_beside_many_routers(self):
        before = self.one_event()
        growth.add_routers(self.cloud, range(FEW, FEW + ROUTERS), EACH)
        routers = FEW + ROUTERS
        self.rest(routers * (EACH + 1), routers)
        self.compare(before)


class PortsTest(OneEventTestCase):
    """Lines of the agent, for machines on one provider network."""

    drivers = {'provider_port': provider_port.ProviderPortDriver}

    def setUp(self):
        super().setUp()
        self.cloud.add_switch()
        self.calls = growth.Lines(self)
        growth.add_ports(self.cloud, range(1, FEW_PORTS))
        self.gateway = self.agent(
            drivers=list(self.drivers), reconcile_interval=3600)
        self.rest(FEW_PORTS)

    def rest(self, ports):
        """Wait until all machines before a number are announced."""
        self.eventually(lambda: len(self.announced()) == ports - 1,
                        f'{ports} ports', 120)

    def add(self):
        growth.add_ports(self.cloud, [0])

    def remove(self):
        self.sb.transact(ovsdb.delete('Port_Binding',
                                      {'logical_port': 'vm-0'}))

    def test_beside_many(self):
        before = self.one_event()
        growth.add_ports(self.cloud, range(FEW_PORTS, MANY_PORTS))
        self.rest(MANY_PORTS)
        self.compare(before)


class StartTest(base.ServiceTestCase):
    """What a start does for each router until it is announced."""

    def calls(self, function):
        """How often a function was called."""
        return sum(number for (_thread, _file, name), number
                   in self.found.items() if name == function)

    def test_few_rows_and_columns_are_looked_up(self):
        """python-ovs converts sets and maps three times for an attribute."""
        calls = growth.Calls(self)
        growth.add_routers(self.cloud, range(ROUTERS), 1)
        with calls.counted() as self.found:
            self.agent(reconcile_interval=3600)
            self.eventually(lambda: len(self.announced()) == 2 * ROUTERS,
                            'addresses', 120)
        # The tunnels of all candidates once.
        self.assertLess(self.calls('Groups._tunnels'), ROUTERS)
        self.assertLess(self.calls('Row.__getattr__'), 60 * ROUTERS)

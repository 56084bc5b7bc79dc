# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The resources that the driver fip_route wants, for the tests of a driver."""

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

FIP = '198.51.100.10'


def balanced(address, floating=True, unanswered=''):
    """A virtual IP of a load balancer."""
    return model.BalancedAddress(address, floating, unanswered)


class FipRouteTestCase(base.BaseTestCase):

    def driver(self, **options):
        return world.driver('fip_route', world.conf(**options))

    def wants(self, router, node=None, **options):
        """What the driver wants for a router, a list."""
        return list(world.wanted(
            self.driver(**options), router, node or cloud.node()))

    def kind(self, kind, *args, **options):
        """The same, of one resource class."""
        return [r for r in self.wants(*args, **options) if r.kind == kind.kind]

    def announced(self, *args, **options):
        """Addresses that end up in BGP, by either method."""
        return sorted(
            r.subject.partition('/')[0] for r in self.wants(*args, **options)
            if isinstance(r, (resources.Announcement,
                              resources.AnnouncedRoute)))

    def kept(self, *args, **options):
        return {r.of for r in self.wants(*args, **options) if r.kind == 'keep'}

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The resources that a driver wants, for the tests of drivers."""

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

FIP = '198.51.100.10'


def balanced(address, floating=True, unanswered=''):
    """A virtual IP of a load balancer."""
    return model.BalancedAddress(address, floating, unanswered)


def only(kind, wanted):
    """Of the resources, those of one class."""
    return [each for each in wanted if each.kind == kind.kind]


class DriverTestCase(base.BaseTestCase):

    # The driver, and options that differ from the defaults.
    name, options = '', {}

    def driver(self, name='', **options):
        return world.driver(name or self.name, world.conf(
            **{**self.options, **options}))

    def wanted(self, subject, node=None, name='', **options):
        """What a driver wants for a subject, or a router, a list."""
        made, node = self.driver(name, **options), node or cloud.node()
        if isinstance(subject, cloud.Router):
            return world.wanted(made, subject, node)
        return list(made.resources(subject, node))

    def of(self, kind, *args, **options):
        """The same, of one resource class."""
        return only(kind, self.wanted(*args, **options))

    def kinds(self, *args, **options):
        return [each.kind for each in self.wanted(*args, **options)]


class FipRouteTestCase(DriverTestCase):

    name = 'fip_route'

    def announced(self, *args, **options):
        """Addresses that end up in BGP, by either method."""
        return sorted(
            r.subject.partition('/')[0] for r in self.wanted(*args, **options)
            if isinstance(r, (resources.Announcement,
                              resources.AnnouncedRoute)))

    def kept(self, *args, **options):
        return {r.of for r in self.of(resources.Keep, *args, **options)}

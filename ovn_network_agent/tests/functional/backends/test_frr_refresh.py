# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


import json

from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.backends import static_routes
from ovn_network_agent.tests.functional.frr import base


class RefreshTestCase(static_routes.StaticTestCase):
    """The soft refresh beside the loop; zebra takes its time (trap T30)."""

    def setUp(self):
        super().setUp()
        self.conf.set_override('bgp_soft_refresh', 'on-removal', 'frr')
        self.frr.log_commands()
        self.addCleanup(self.frr.forget_commands)
        self.create(*map(static_routes.route, (1, 2, 3)))
        base.wait_until(lambda: len(self.in_bgp()) == 3, 'in BGP')
        # Less than the refresh waits for.
        self.slow_down(300)
        self.before = self.frr.refreshes()

    def slow_down(self, milliseconds):
        """Have zebra handle a change so much later."""
        self.frr.configure(f'zebra work-queue {milliseconds}')
        self.addCleanup(self.frr.configure,
                        f'no zebra work-queue {milliseconds}')

    def in_bgp(self):
        """The prefixes in the table of bgpd, a set."""
        shown = json.loads(self.frr.ask('bgpd', 'show bgp ipv4 unicast json'))
        return set(shown.get('routes', ()))

    def made(self):
        """The number of refreshes since the begin of the test."""
        return self.frr.refreshes() - self.before


class EachWay:

    def test_after_the_withdrawal(self):
        # Trap T30: otherwise bgpd would send the withdrawn route again.
        self.delete(static_routes.route(1))
        base.wait_until(self.made, 'refreshed')
        self.assertEqual({static_routes.route(n).prefix for n in (2, 3)},
                         self.in_bgp())


class TestRefresh(EachWay, RefreshTestCase):
    """Over the command sockets of the daemons."""

    def test_overtaken_by_an_addition(self):
        """bgpd may then never lose the route: the refresh waits no longer."""
        self.delete(static_routes.route(1))
        self.create(static_routes.route(1))
        self.wait_refreshed()
        self.assertEqual(1, self.made())
        base.wait_until(lambda: len(self.in_bgp()) == 3, 'in BGP')
        base.wait_until(lambda: len(self.frr.learned()) == 3, 'learned')

    def test_excludes_a_withdrawal(self):
        """The withdrawal of a route that a refresh is about to send."""
        self.conf.set_override('bgp_soft_refresh', 'always', 'frr')
        with self.backend.refreshes.change([static_routes.route(1).prefix]):
            self.create(static_routes.route(4))
            waiting.lasts(lambda: self.assertEqual(0, self.made()), 1)
        self.wait_refreshed()
        self.assertEqual(1, self.made())

    def test_made_before_the_end(self):
        self.delete(static_routes.route(1))
        self.backend.close()
        self.assertEqual(1, self.made())
        self.assertNotIn(static_routes.route(1).prefix, self.in_bgp())

    def test_not_wanted_any_more(self):
        """After a reload with another value of the option."""
        self.conf.set_override('bgp_soft_refresh', 'never', 'frr')
        self.delete(static_routes.route(1))
        self.wait_refreshed()
        base.wait_until(lambda: len(self.in_bgp()) == 2, 'lost')
        self.assertEqual(0, self.made())


class TestRefreshByVtysh(EachWay, RefreshTestCase):
    """Where the sockets of the daemons are not to be used."""

    def setUp(self):
        super().setUp()
        self.root_side(vtysh_wrapper='env')

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers of the view of real databases, for its tests."""

from ovn_network_agent.tests.functional.ovn import base


class ViewTestCase(base.OvsdbTestCase):

    def seen(self, eyes, name='r1'):
        return eyes.router(name)

    def becomes(self, eyes, wanted, what, name='r1'):
        """Wait until something holds for a router, and give it."""
        def look():
            router = eyes.router(name)
            return wanted(router) and (router or True)
        return self.eventually(look, what)

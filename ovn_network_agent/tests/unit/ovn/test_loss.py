# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a view has lost, so that the servers have to confirm the loss."""

import uuid

from oslotest import base

from ovn_network_agent.ovn import confirmation
from ovn_network_agent.tests.unit import cloud

FIP = '198.51.100.10'
ROUTER = cloud.router().uuid


def router(fips=(FIP,), **port):
    return cloud.router(fips=fips, ports=(cloud.port(**port),))


class Server:
    """A server of OVN that answers when a test says so."""

    def __init__(self):
        self.asked = []

    def ask(self, _operations, answered):
        self.asked.append(answered)


class AnswerTest(base.BaseTestCase):

    def test_an_answer_from_before_a_later_loss_confirms_nothing(self):
        server, confirmed = Server(), []
        servers = confirmation._Servers({'sb': server})
        for _loss in range(2):
            servers.ask({'sb': []}, confirmed.append)
        before, after = server.asked
        before([], {})
        self.assertEqual(([], True), (confirmed, servers.is_pending))
        after([], {})
        self.assertEqual((['sb'], False), (confirmed, servers.is_pending))


class LossTest(base.BaseTestCase):

    def lost(self, *now, known=True, before=None):
        """Whether this chassis has lost something, and which routers have.

        :param known: whether NB has the router
        """
        nb = {'Logical_Router': {uuid.UUID(ROUTER): None} if known else {}}
        found = confirmation.loss(
            cloud.snapshot(before or router()), cloud.snapshot(*now), nb, None)
        return found.local, found.routers

    def test_nothing(self):
        self.assertEqual((False, set()), self.lost(router()))
        # More than before is no loss.
        self.assertEqual((False, set()), self.lost(
            router(networks=('198.51.100.1/24', '203.0.113.1/24'))))

    def test_the_port_is_elsewhere_or_on_no_chassis(self):
        for chassis in (cloud.OTHER, ''):
            local, _routers = self.lost(router(local=False, chassis=chassis))
            self.assertTrue(local)

    def test_sb_does_not_have_the_port_of_the_router(self):
        self.assertEqual((True, set()), self.lost())

    def test_nb_does_not_have_the_router(self):
        self.assertEqual((True, {ROUTER}), self.lost(known=False))

    def test_the_router_does_not_have_the_port(self):
        self.assertEqual((True, {ROUTER}), self.lost(
            cloud.router(fips=[FIP], ports=())))

    def test_a_network_or_an_address(self):
        for now in (router(networks=('203.0.113.1/24',)), router(fips=())):
            self.assertEqual((False, {ROUTER}), self.lost(now))

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

    def lost(self, *now, known=True):
        """What a view has lost.

        :param known: whether NB has the router
        """
        nb = {'Logical_Router': {uuid.UUID(ROUTER): None} if known else {}}
        found = confirmation.loss(
            cloud.snapshot(router()), cloud.snapshot(*now), nb, None)
        return found.local, found.routers

    def test_what_is_lost(self):
        """Whether this chassis has lost something, and which routers have.

        More than before is no loss.
        """
        none = frozenset()
        for now, lost in (
                (router(), (False, none)),
                (router(networks=('198.51.100.1/24', '203.0.113.1/24')),
                 (False, none)),
                # The router does not have the port.
                (cloud.router(fips=[FIP], ports=()), (True, {ROUTER})),
                (router(networks=('203.0.113.1/24',)), (False, {ROUTER})),
                (router(fips=()), (False, {ROUTER}))):
            self.assertEqual(lost, self.lost(now))
        for chassis in cloud.OTHER, '':
            self.assertTrue(self.lost(router(local=False,
                                             chassis=chassis))[0])
        # SB does not have the port, or NB the router.
        self.assertEqual((True, none), self.lost())
        self.assertEqual((True, {ROUTER}), self.lost(known=False))

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend advertised: on which routes a proof is written."""

import uuid

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.common import normal_wait
from ovn_network_agent.tests.functional.backends import proofs
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

OURS = ownership.marks(cloud.OWNER)
THEIRS = ownership.marks(cloud.OTHER_OWNER)
MARKED = {**OURS, ownership.EXT_ID_ADVERTISED: cloud.HOSTNAME}


class OwnerTest(proofs.Rows, clouds.CloudTestCase):

    def test_only_a_route_of_ours_gets_it(self):
        for name, external_ids in (
                ('unmanaged', {'note': 'x'}),
                ('untagged', {ownership.EXT_ID_MANAGED:
                              ownership.EXT_ID_MANAGED_VALUE})):
            router = self.add_router(name, external_ids)
            self.assertEqual(
                {router: 'the router has no default route of ours'},
                self.apply(self.proof(router=router)))
        theirs, gone = self.add_router('theirs', THEIRS), str(uuid.uuid4())
        refused = self.apply(self.proof(router=theirs),
                             self.proof(router=gone))
        # The view is behind NB here, which is no fault of this node.
        self.assertEqual(
            {theirs: f'{ownership.owner(THEIRS)} has taken the default route '
                     'over', gone: 'the router is gone'}, refused)
        self.assertEqual({normal_wait.Reason},
                         set(map(type, refused.values())))
        self.assertEqual([], [ids for ids in self.marks() if
                              ownership.EXT_ID_ADVERTISED in ids])

    def test_one_that_is_taken_over_meanwhile(self):
        """Trap T26: the proof is for an owner, not for a route."""
        base.meanwhile(self.backend, lambda: self.nb.transact(ovsdb.update(
            'Logical_Router_Static_Route', {},
            external_ids=ovsdb.ovsdb_dict(THEIRS))))
        self.assertEqual({self.router}, self.apply(self.proof()).keys())
        self.assertEqual([THEIRS], self.marks())

    def test_what_counts_as_there(self):
        """Ours of an earlier run does, so that a restart clears nothing."""
        marked = self.add_router('marked', MARKED)
        for name, external_ids in (
                ('others', {**OURS, ownership.EXT_ID_ADVERTISED:
                            cloud.OTHER_HOSTNAME}),
                ('lost', {**MARKED, ownership.EXT_ID_CHASSIS:
                          cloud.OTHER_HOSTNAME}),
                ('unmanaged', {ownership.EXT_ID_ADVERTISED:
                               cloud.HOSTNAME})):
            self.add_router(name, external_ids)
        self.assertEqual([self.proof(router=marked)],
                         self.backend.read(frozenset()))
        nameless = self.agent()
        nameless.attach(backends.Context(self.eyes_.databases))
        self.assertEqual([], nameless.read(frozenset()))

    def test_what_another_agent_takes_over_is_no_drift(self):
        """And a proof that somebody removes is drift."""
        ref = self.proof().ref
        self.assertEqual(set(), self.backend.taken_over([ref]))
        taken = self.add_router('r2', THEIRS)
        other = self.proof(router=taken).ref
        self.assertEqual({other}, self.backend.taken_over([ref, other]))

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend bfd_timers on a real database."""

from ovn_network_agent.backends import base as backends
from ovn_network_agent.tests.functional.backends import bfd
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import northd


class BackendTest(bfd.Agents, base.OvsdbTestCase):

    def test_two_write_at_once(self):
        """The server refuses the second one, which then sees the first."""
        self.add_row()
        one = self.agent()
        two = self.agent(bfd.OTHER, eyes=self.eyes())
        base.meanwhile(one, lambda: self.create(two, self.wanted(bfd.OTHER,
                                                                 bfd.SLOW)))
        self.assertEqual({}, self.create(one, self.wanted()))
        self.assertEqual(bfd.SLOW, self.options())
        self.assertEqual(bfd.BOTH, self.marks().keys())

    def test_the_server_is_asked_who_is_dead(self):
        self.add_row()
        self.create(self.agent(bfd.OTHER), self.wanted(bfd.OTHER))
        agent = self.agent(dead=(bfd.OTHER,))
        self.create(agent, self.wanted())
        self.assertEqual(bfd.BOTH, self.marks().keys())
        # Without its answer nobody is dead, and the own request goes.
        self.sb.kill()
        self.eventually(lambda: not self.eyes_.databases['sb'].connected,
                        'the loss')
        self.assertEqual({}, self.delete(agent, self.wanted()))
        self.assertEqual((bfd.FAST, {bfd.MARK, bfd.REQUEST + bfd.OTHER}),
                         (self.options(), self.marks().keys()))
        self.nb.kill()
        self.eventually(lambda: not self.eyes_.databases['nb'].connected,
                        'the loss')
        self.assertRaises(backends.BackendError, self.create, agent,
                          self.wanted())


@northd.needs_northd
class NorthdTest(bfd.Agents, base.OvsdbTestCase):

    def test_northd_copies_them(self):
        self.add_row()
        northd.start(self)
        agent = self.agent()
        self.create(agent, self.wanted())
        self.eventually(lambda: bfd.FAST.items() <= self.southbound().items(),
                        self.southbound)
        self.delete(agent, self.wanted())
        self.eventually(lambda: not bfd.FAST.keys() & self.southbound().keys(),
                        self.southbound)
        # What northd itself writes there does not count as foreign.
        self.assertEqual({}, self.create(agent, self.wanted()))

    def options(self):
        found = super().options()
        return {key: found[key] for key in bfd.FAST if key in found}

    def southbound(self):
        """The options of SB_Global, dict."""
        rows = self.sb.rows('SB_Global')
        return dict(rows[0]['options'][1]) if rows else {}

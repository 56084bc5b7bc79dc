# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an explanation says, for the tests of the judges."""

from oslotest import base

from ovn_network_agent import diagnosis
from ovn_network_agent.diagnosis.address import explanation

Outcome = explanation.Outcome
Verdict = diagnosis.Verdict
NO_ROUTE = {'error': 'there is no route', 'dst': '', 'dev': '', 'table': 0}


class AddressTestCase(base.BaseTestCase):

    def found(self, facts, verdict):
        """The checks with a verdict, a list."""
        return [each.check for each in explanation.explain(facts).findings
                if each.verdict is verdict]

    def assert_broken(self, check, facts, *words):
        """Exactly one layer is called broken, and it has a remedy.

        :param words: of its evidence
        """
        explained = explanation.explain(facts)
        self.assertEqual([check], self.found(facts, Verdict.BROKEN),
                         explained.text())
        self.assertTrue(explained.remedy[1])
        self.assertIn('Remedy: ', explained.text())
        self.assert_one(check, facts, Verdict.BROKEN, *words)

    def assert_one(self, check, facts, verdict, *words):
        """Exactly one layer has a verdict; words are of its evidence."""
        self.assertEqual([check], self.found(facts, verdict))
        for word in words:
            self.assertIn(word, self.evidence(facts, check))

    def evidence(self, facts, check):
        return next(each.evidence for each in explanation.explain(
            facts).findings if each.check == check)

    def checks(self, facts):
        """The names of all layers that are judged."""
        return [each.check for each in explanation.explain(facts).findings]

    def outcome(self, facts):
        return explanation.explain(facts).outcome

    def remedy(self, facts):
        """The remedy of the fault that comes first."""
        return explanation.explain(facts).remedy[1]

    def assert_here(self, facts, *checks):
        """Nothing is broken or a warning, and these layers are as wanted."""
        explained = explanation.explain(facts)
        self.assertIs(Outcome.OK, explained.outcome, explained.text())
        self.assertEqual([], self.found(facts, Verdict.WARN))
        self.assertLessEqual({*checks}, {*self.found(facts, Verdict.OK)})
        return explained

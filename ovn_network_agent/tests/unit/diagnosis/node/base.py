# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the tests of judges share."""

from oslotest import base

from ovn_network_agent import diagnosis

OK = diagnosis.Verdict.OK
WARN = diagnosis.Verdict.WARN
BROKEN = diagnosis.Verdict.BROKEN
NOT_CHECKED = diagnosis.Verdict.NOT_CHECKED


class JudgeTestCase(base.BaseTestCase):

    def judged(self, judge, facts, *verdicts):
        """The evidence of what a judge says, in one text.

        :param verdicts: those that are expected
        """
        said = list(judge(facts))
        self.assertEqual(list(verdicts), [one.verdict for one in said], said)
        for one in said:
            self.assertTrue(one.evidence, said)
            self.assertNotIn('\n', one.evidence + one.remedy)
            if one.verdict in (WARN, BROKEN):
                self.assertTrue(one.remedy, said)
        return ' '.join(f'{one.evidence} {one.remedy}' for one in said)

    def judged_each(self, judge, *cases):
        """Cases of (facts, the verdict or verdicts, words that are said)."""
        for facts, verdict, *words in cases:
            said = self.judged(judge, facts, *(
                verdict if isinstance(verdict, tuple) else (verdict,)))
            for word in words:
                self.assertIn(word, said)

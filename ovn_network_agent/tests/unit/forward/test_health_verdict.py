# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What results of checks come to."""

from oslotest import base

from ovn_network_agent.forward import health_thread


class VerdictTest(base.BaseTestCase):

    def after(self, results, rise=2, fall=3):
        """What is known after each result: '+', '-' and '?'."""
        verdict = health_thread.Verdict(rise, fall)
        said = ''
        for result in results:
            before = verdict.alive
            changed = verdict.take(result == '+')
            self.assertEqual(changed, before is not verdict.alive)
            said += '+' if verdict.alive else '-'
        return said

    def test_nothing_is_known_at_first(self):
        self.assertIsNone(health_thread.Verdict(1, 1).alive)

    def test_the_first_result_decides(self):
        self.assertEqual('-', self.after('-'))
        self.assertEqual('+', self.after('+'))

    def test_fall_in_a_row(self):
        self.assertEqual('++++--', self.after('++----'[:6]))
        self.assertEqual('+++-', self.after('+---'))

    def test_rise_in_a_row(self):
        self.assertEqual('---++', self.after('--+++'[:5]))

    def test_one_of_the_other_kind_begins_anew(self):
        self.assertEqual('++++++-', self.after('+--+---'))
        self.assertEqual('----+', self.after('-+-++'))

    def test_one_each_is_enough(self):
        self.assertEqual('+-+-', self.after('+-+-', rise=1, fall=1))

    def test_how_many_it_took(self):
        verdict = health_thread.Verdict(2, 3)
        verdict.take(True)
        self.assertEqual(1, verdict.row)
        for _each in range(3):
            verdict.take(False)
        self.assertEqual((False, 3), (verdict.alive, verdict.row))
        # Further ones do not count as more.
        verdict.take(False)
        self.assertEqual(3, verdict.row)

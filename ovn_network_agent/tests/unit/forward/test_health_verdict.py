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

    def test_results(self):
        for results, said, numbers in (
                # The first one decides.
                ('-', '-', {}), ('+', '+', {}),
                # Three failures in a row, and two successes.
                ('++----', '++++--', {}), ('+---', '+++-', {}),
                ('--+++', '---++', {}),
                # One of the other kind begins anew.
                ('+--+---', '++++++-', {}), ('-+-++', '----+', {}),
                ('+-+-', '+-+-', {'rise': 1, 'fall': 1})):
            self.assertEqual(said, self.after(results, **numbers), results)

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

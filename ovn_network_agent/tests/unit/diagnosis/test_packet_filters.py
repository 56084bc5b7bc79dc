# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What explain says of the filters of other programs."""

import dataclasses
import ipaddress

from oslotest import base

from ovn_network_agent import diagnosis
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.nft import filters
from ovn_network_agent.tests.unit.diagnosis import healthy

FIP, OTHER = (ipaddress.ip_address(each)
              for each in ('198.51.100.10', '198.51.100.99'))


def drop(address, certain=True):
    return filters.Filter('inet guard transit', 7, ((address, address),),
                          ('quarantine',), certain)


class PacketFiltersTest(base.BaseTestCase):

    def found(self, *some, closed=()):
        facts = dataclasses.replace(healthy.case(str(FIP)),
                                    filters=filters.Found(some, closed))
        return self.judged(facts)

    def judged(self, facts):
        explained = explanation.explain(facts)
        one, = (each for each in explained.findings
                if each.check == 'packet-filters')
        return explained, one

    def test_a_rule_that_names_the_address(self):
        explained, one = self.found(drop(OTHER), drop(FIP))
        self.assertEqual(diagnosis.Verdict.BROKEN, one.verdict)
        self.assertEqual(
            'rule 7 of the chain "inet guard transit", by the set '
            'quarantine drops packets of 198.51.100.10', one.evidence)
        self.assertIn('"nft -a list chain inet guard transit"',
                      explained.remedy[1])

    def test_a_rule_that_drops_some_packets(self):
        explained, one = self.found(drop(FIP, False))
        self.assertEqual(diagnosis.Verdict.WARN, one.verdict)
        self.assertIn('drops some packets', one.evidence)
        self.assertIsNone(explained.remedy)

    def test_rules_about_others(self):
        _explained, one = self.found(drop(OTHER), closed=('ip fw forward',))
        self.assertEqual(diagnosis.Verdict.OK, one.verdict)
        self.assertIn('"ip fw forward" drops what its rules do not accept',
                      one.evidence)

    def test_nft_that_fails(self):
        _explained, one = self.judged(dataclasses.replace(
            healthy.case(str(FIP)), filters=readers.Unread('nft: not found')))
        self.assertEqual(diagnosis.Verdict.NOT_CHECKED, one.verdict)

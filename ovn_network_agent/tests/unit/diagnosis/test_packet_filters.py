# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What explain says of the filters of other programs."""

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

    def test_rules_of_others(self):
        """That name the address, drop some packets, or are about others."""
        verdict, command = diagnosis.Verdict, (
            '"nft -a list chain inet guard transit"')
        for found, wanted, words, remedy in (
                (filters.Found((drop(OTHER), drop(FIP)), ()), verdict.BROKEN,
                 'rule 7 of the chain "inet guard transit", by the set '
                 'quarantine drops packets of 198.51.100.10', command),
                (filters.Found((drop(FIP, False),), ()), verdict.WARN,
                 'drops some packets of 198.51.100.10', ''),
                (filters.Found((drop(OTHER),), ('ip fw forward',)),
                 verdict.OK,
                 '"ip fw forward" drops what its rules do not accept', ''),
                (readers.Unread('nft: not found'), verdict.NOT_CHECKED, '',
                 '')):
            explained = explanation.explain(healthy.case(str(FIP))._replace(
                filters=found))
            one, = (each for each in explained.findings
                    if each.check == 'packet-filters')
            self.assertEqual(wanted, one.verdict)
            self.assertTrue(one.evidence.endswith(words), one.evidence)
            self.assertEqual(bool(remedy), explained.remedy is not None)
            if remedy:
                self.assertIn(remedy, explained.remedy[1])

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Explanations as JSON."""

from oslotest import base

from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.tests.unit.diagnosis import healthy


class JsonTest(base.BaseTestCase):

    def test_the_keys(self):
        said = explanation.explain(healthy.case()).json()
        self.assertEqual({'address', 'vni', 'kind', 'outcome', 'findings'},
                         set(said))
        self.assertEqual({'check', 'layer', 'verdict', 'evidence', 'remedy'},
                         set(said['findings'][0]))

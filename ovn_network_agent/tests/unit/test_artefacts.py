# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The checks of a release, with artefacts that have flaws."""

import email.message
from importlib import metadata

from oslotest import base

from ovn_network_agent.tests import tools

FOUND = {'ovs': '3.7.0', 'pbr': '7.0.3'}


def said(**fields):
    message = email.message.Message()
    for name, value in fields.items():
        message[name.replace('_', '-')] = value
    return message


class ArtefactsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.artefacts = tools.load('artefacts')

    def test_wheels(self):
        one = {'a.py': '1', 'b.py': '2'}
        self.assertEqual([], self.artefacts.differences(one, dict(one)))
        flaws = self.artefacts.differences(one, {'b.py': '3', 'c.py': '4'})
        self.assertEqual(3, len(flaws), flaws)
        self.assertIn('a.py is only in the wheel of the source', flaws[0])
        self.assertIn('b.py differs', flaws[1])
        self.assertIn('c.py is only in the wheel of the tree', flaws[2])

    def test_a_test_in_the_wheel(self):
        flaw, = self.artefacts.superfluous(
            ['ovn_network_agent/version.py',
             'ovn_network_agent/tests/unit/test_x.py'])
        self.assertIn('test_x.py', flaw)

    def test_metadata(self):
        whole = said(
            Version='1.0', Summary='A program', License_Expression='MIT',
            Requires_Python='>=3.11', Requires_Dist='ovs>=3',
            Description_Content_Type='text/x-rst', Classifier='Private',
            Project_URL='Source, https://example.org')
        names = ['ovn_network_agent-1.0.tar.gz',
                 'ovn_network_agent-1.0-py3-none-any.whl']
        self.assertEqual([], self.artefacts.incomplete(whole, whole, names))
        flaws = self.artefacts.incomplete(
            whole, said(Version='1.0', Summary='A program'),
            ['ovn_network_agent-1.1.tar.gz'])
        self.assertIn('the metadata has no Requires-Dist', flaws)
        self.assertTrue(any('different metadata' in flaw for flaw in flaws))
        self.assertIn('1.1.tar.gz is not of version 1.0', flaws[-1])

    def test_components(self):
        self.assertEqual([], self.artefacts.untrue(FOUND, FOUND, set(FOUND)))
        flaws = self.artefacts.untrue(
            {'ovs': '3.6.0'}, FOUND, {'ovs'})
        self.assertEqual(3, len(flaws), flaws)
        self.assertEqual('ovs: the list has 3.6.0, installed is 3.7.0',
                         flaws[0])
        self.assertEqual('pbr is installed, and the agent does not need it',
                         flaws[2])

    def test_the_agent_is_the_subject(self):
        agent = {'name': 'ovn-network-agent', 'version': '1.0',
                 'type': 'library', 'externalReferences': ['file:///tmp']}
        other = {'name': 'oslo.config', 'version': '10.0'}
        made = self.artefacts.about_agent(
            {'metadata': {'tools': []}, 'components': [agent, other]})
        self.assertEqual(
            {'name': 'ovn-network-agent', 'version': '1.0',
             'type': 'application'}, made['metadata']['component'])
        self.assertEqual({'oslo-config': '10.0'},
                         self.artefacts.described(made))
        self.assertRaises(ValueError, self.artefacts.about_agent,
                          {'metadata': {}, 'components': [other]})

    def test_what_the_agent_needs(self):
        packages = list(metadata.distributions())
        needed = self.artefacts.needed(packages)
        # cotyledon comes with the extra of oslo.service alone.
        self.assertLessEqual({'ovs', 'cotyledon', 'msgpack'}, needed)
        self.assertNotIn('stestr', needed)
        self.assertNotIn('ovn-network-agent', needed)
        self.assertNotIn('ovn-network-agent',
                         self.artefacts.installed(packages))

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The pictures of the documentation follow from the plan and from a text."""

import re
from xml.etree import ElementTree

from oslotest import base

from lab import plan
from ovn_network_agent.tests import tools

pictures = tools.load('pictures')


class PicturesTest(base.BaseTestCase):

    def test_they_are_up_to_date(self):
        for name, text in pictures.descriptions().items():
            labels = re.findall(r'label="([^"]*)"', text)
            root = ElementTree.parse(
                pictures.SOURCE / '_static' / f'{name}.svg')
            self.assertEqual(
                sorted(line for label in labels
                       for line in label.replace('\\\n', '').split('\\n')),
                sorted(each.text for each in root.iter()
                       if each.tag.endswith('}text')),
                'draw anew: tools/pictures.py')

    def test_the_cloud_has_every_node_of_the_plan(self):
        for name, address in plan.HOSTS.items():
            self.assertRegex(pictures.lab(), rf'"{name}\\n{address}[,\\]')

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The page about symptoms quotes messages, checks and layers of the agent."""

import ast
import os
import re

from oslotest import base

from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.node import examination
from ovn_network_agent.tests import tools
from ovn_network_agent.tests.unit import sources

PAGE = os.path.join(tools.ROOT, 'doc', 'source', 'admin', 'symptoms.rst')
# A list of messages, and the message of an item.
MESSAGES = re.compile(r'^\.\. messages that.*\n\n((?:.+\n)+)', re.M)
MESSAGE = re.compile(r'^``(.+?)``', re.M)
DOCTOR = re.compile(r'ovn-network-agent-ctl doctor ((?:[\w\s-]|\\\n)+?)\n\n')
LINES = re.compile(r'[Ll]ines? (\*.+?) (?:is|are) about|the lines (\*.+?)\.',
                   re.S)
EMPHASIS = re.compile(r'\*(.+?)\*', re.S)
# What stands for a value in a message of the source.
VALUE = '\0'
OF_FORMAT = re.compile(r'%[-.\d]*[sdgf]')


def text_of(node):
    """The text of an expression with VALUE for each value, or None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return OF_FORMAT.sub(VALUE, node.value)
    if isinstance(node, ast.JoinedStr):
        return ''.join(text_of(part) or VALUE for part in node.values)
    return None


def said():
    """All texts in the source of the agent."""
    for _name, path in sources.modules():
        with open(path) as source:
            for node in ast.walk(ast.parse(source.read(), path)):
                text = text_of(node)
                if text:
                    yield text


class SymptomsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        with open(PAGE) as page:
            self.page = page.read()

    def test_messages_are_those_of_the_source(self):
        messages = [message for part in MESSAGES.findall(self.page)
                    for message in MESSAGE.findall(part)]
        self.assertGreater(len(messages), 15)
        texts = list(said())
        self.assertEqual([], [
            message for message in messages if not any(
                re.search('.*'.join(map(re.escape, message.split('...'))),
                          text, re.S) for text in texts)])

    def test_checks_of_doctor(self):
        named = {word for words in DOCTOR.findall(self.page)
                 for word in words.replace('\\', ' ').split()}
        self.assertGreater(len(named), 15)
        self.assertEqual(set(), named - {
            check.name for check in examination.CHECKS})

    def test_layers_of_explain(self):
        named = {' '.join(layer.split()) for found in
                 LINES.findall(self.page) for part in found
                 for layer in EMPHASIS.findall(part)}
        self.assertGreater(len(named), 7)
        self.assertEqual(set(), named - set(verdicts.LAYERS.values()))

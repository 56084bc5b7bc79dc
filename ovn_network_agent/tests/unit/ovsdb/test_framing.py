# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The messages of a stream are cut and read like the library's parser does."""

import json

import hypothesis
from hypothesis import strategies as st
from oslotest import base
from ovs import json as ovs_json

from ovn_network_agent.ovsdb import framing
from ovn_network_agent.tests import budget

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2 ** 63, 2 ** 63 - 1) |
    st.text(st.characters(exclude_characters='\0',
                          exclude_categories=['Cs'])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from('{}"\\[]:, aé'), inner, max_size=3), max_leaves=12)
_OBJECTS = st.lists(st.dictionaries(st.text('{}"\\x', max_size=3), _VALUES,
                                    max_size=4), max_size=4)


def feed(framer, data, sizes):
    """Feed pieces of some sizes, and the rest; returns the objects."""
    found = []
    for size in sizes:
        found += framer.feed(data[:size])
        data = data[size:]
    return found + framer.feed(data)


class FramingTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(200))
    @hypothesis.given(_OBJECTS, st.booleans(), st.sampled_from(
        ['', ' ', '\n\t']), st.lists(st.integers(1, 9), max_size=30))
    def test_any_pieces(self, objects, escapes, between, sizes):
        texts = [json.dumps(each, ensure_ascii=escapes).encode()
                 for each in objects]
        found = feed(framing.Framer(), between.encode().join(texts), sizes)
        self.assertEqual(texts, found)
        self.assertEqual(objects, [framing.value(text) for text in found])
        # The parser of the library says the same.
        self.assertEqual(objects, [ovs_json.from_string(text.decode())
                                   for text in found])

    def test_an_incomplete_object_is_kept(self):
        framer = framing.Framer()
        self.assertEqual([], framer.feed(b'{"a": "}\\'))
        self.assertEqual([], framer.feed(b'"}'))
        self.assertEqual([b'{"a": "}\\"}"}'], framer.feed(b'"} {'))
        self.assertEqual([b'{}'], framer.feed(b'}'))

    def test_what_begins_no_object(self):
        for text in (b'}', b'[{}]', b'x{}', b'{}1', b'"{}"', b'{}}{'):
            with self.subTest(text):
                self.assertRaises(framing.Malformed,
                                  framing.Framer().feed, text)

    def test_a_bad_value(self):
        for text in (b'{"a": }', b'{"a": NaN}', b'{"a": "\xff"}',
                     b'{"a": "\\ud800"}', b'{"a": 1} garbage {}',
                     b'{"a": ' + b'[' * 100000 + b']' * 100000 + b'}'):
            with self.subTest(text[:30]):
                self.assertRaises(framing.Malformed, framing.value, text)

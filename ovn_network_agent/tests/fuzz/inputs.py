# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The hypothesis strategy of inputs: entries of the corpus with edits."""

import copy
import functools
import itertools
import json
import re

from hypothesis import strategies as st

_LONGEST = 8192
_WIDEST = 64
# Most inputs of a list.
MOST = 8
_PLACES = st.integers(0, 4 * _LONGEST)
_WORD = re.compile(rb'\w+')
_NUMBERS = (0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 127, 128, 254, 255, 256,
            4095, 32767, 32768, 65535, 65536, 0x7fffffff, 0x80000000,
            0xffffffff, 0x100000000, 0xffffffffffffffff, 1 << 64, 10 ** 30)
# Python refuses to read more than 4300 digits.
_DIGITS = (b'-1', *(str(number).encode() for number in _NUMBERS), b'9' * 5000)
_PACKED = tuple((number & (1 << 8 * size) - 1).to_bytes(size, order)
                for number in _NUMBERS for size in (1, 2, 4, 8)
                for order in ('big', 'little'))
# Bytes that an edit replaces (None: a word or number), and how many times they
# stay.
_SHAPES = tuple((width, repeats)
                for width in (None, 0, 1, 2, 4, 8, 16, _WIDEST)
                for repeats in (0, 0, 0, 0, 0, 0, 0, 1, 2, 16, 2000))
_NESTED = functools.reduce(lambda value, _level: [value], range(400), [])
# What a value is replaced with in an input in JSON.
_VALUES = (
    None, True, False, 0, -1, 1, 0.5, 65536, 4294967296, 1 << 64, 10 ** 30,
    '', ' ', 'x', '0', '-1', '\n', '\0', '\ud800', '\u0661', 'é' * 300,
    'x' * 20, '/', '..', '../x', '.', ';', '"', "'", '}', '{', '%s', '#',
    '0.0.0.0', '0.0.0.0/0', '::/0', '::', '127.0.0.1', '10.0.0.1/33',
    '198.51.100.10/32', '2001:db8::1/128', 'fe80::1%eth0', '10.0.0.1',
    '::ffff:192.0.2.1', '10.0.0.1\n', '010.0.0.1', '1e400', 'NaN',
    '10.0.0.0/8 }\nflush ruleset\n#', [], {}, [[]], [None], {'': None},
    _NESTED)


def strategy(target, corpus):
    """Strategy of lists of inputs (bytes), each made of the one before.

    The first one is made of an entry of the corpus.  Lists cost less time for
    an input than single inputs, and end at the edit that a finding needs.
    JSON is changed as a value, and in one of eight lists as bytes.
    """
    changed = _chains(corpus or [b''], _byte_edits(corpus, target.words),
                      _bytes)
    entries = list(filter(_parsed, corpus)) if target.json else []
    if not entries:
        return changed
    values = _chains(entries, _value_edits(entries, target.values), _values)
    return st.integers(0, 7).flatmap(
        lambda number: values if number else changed)


def _chains(entries, edits, make):
    return st.builds(make, st.sampled_from(entries), st.lists(
        edits, min_size=1, max_size=MOST))


# -- bytes ----------------------------------------------------------------

def _bytes(data, edits):
    return list(itertools.accumulate(edits, _edited, initial=data))[1:]


def _byte_edits(corpus, words):
    """Strategy of (place, (width, repeats), new bytes or bit), see _edited."""
    parts = dict.fromkeys(data[start:start + size] for data in corpus
                          for size in (4, 16)
                          for start in range(0, len(data), 4))
    new = [st.integers(0, 7), st.just(b''), st.binary(max_size=8),
           *(st.sampled_from(list(some)) for some in (
               _PACKED, _DIGITS, words, parts) if some)]
    return st.tuples(_PLACES, st.sampled_from(_SHAPES), st.one_of(new))


def _edited(data, edit):
    """An input with a part repeated or removed, and new bytes after it.

    Without a width the part is the next word or number.  Instead of new bytes
    there may be the number of a bit, which is inverted.
    """
    place, (width, repeats), new = edit
    start = place % (len(data) + 1)
    if isinstance(new, int):
        return data[:start] + bytes(
            byte ^ 1 << new for byte in data[start:start + 1]) + data[
                start + 1:]
    end = start + (width or 0)
    if width is None and (word := _WORD.search(data, start)):
        start, end = word.span()
    return (data[:start] + data[start:end][:_WIDEST] * repeats + new +
            data[end:])[:_LONGEST]


# -- values ---------------------------------------------------------------

def _value_edits(entries, values):
    """Strategy of (place, way, function of the value there)."""
    parts = [container[key] for data in entries
             for container, key in _slots(_parsed(data))]
    new = [st.sampled_from(_VALUES), st.sampled_from(parts),
           st.recursive(
               st.none() | st.booleans() | st.integers() | st.text(),
               lambda inner: st.lists(inner) | st.dictionaries(
                   st.text(), inner), max_leaves=4)]
    if values:
        new.append(st.sampled_from(values))
    exchanged = (one.map(lambda value: lambda _old: copy.deepcopy(value))
                 for one in new)
    near = _byte_edits([b'x'], ()).map(
        lambda edit: functools.partial(_near, edit))
    return st.tuples(_PLACES, st.sampled_from(
        ('leaf', 'leaf', 'leaf', 'any', 'remove', 'add')),
        st.one_of(*exchanged, near))


def _values(data, edits):
    root, made = _parsed(data), []
    for place, way, new in edits:
        slots = list(_slots(root))
        if way == 'leaf':
            slots = [slot for slot in slots if not isinstance(
                slot[0][slot[1]], list | dict)] or slots
        container, key = slots[place % len(slots)]
        if way == 'remove' and container is not root:
            del container[key]
        elif way == 'add' and isinstance(container, list):
            container.insert(key, new(container[key]))
        elif way == 'add':
            container[str(new(container[key]))] = container[key]
        else:
            container[key] = new(container[key])
        made.append(json.dumps(root[0]).encode()[:4 * _LONGEST])
    return made


def _near(edit, old):
    """A value like another one."""
    if isinstance(old, str):
        return _edited(old.encode('utf-8', 'surrogatepass'), edit).decode(
            'utf-8', 'replace')
    if type(old) is int:
        return old + (-256, -1, 1, 256)[edit[0] % 4]
    return [old, copy.deepcopy(old)]


def _slots(value, depth=50):
    """(container, key) of each value inside a list or an object."""
    items = list(value.items()) if isinstance(value, dict) else list(
        enumerate(value))
    for key, inner in items:
        yield value, key
        if depth and isinstance(inner, list | dict):
            yield from _slots(inner, depth - 1)


def _parsed(data):
    """A list of the value of an input in JSON, else an empty list."""
    try:
        return [json.loads(data)]
    except (ValueError, RecursionError):
        return []

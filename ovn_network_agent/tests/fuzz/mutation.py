# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Other inputs from an input: of bytes, and of values in JSON."""

import json
import re

_NUMBERS = (0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 127, 128, 254, 255, 256,
            4095, 32767, 32768, 65535, 65536, 0x7fffffff, 0x80000000,
            0xffffffff, 0x100000000, 0xffffffffffffffff, 1 << 64, 10 ** 30)
_SIZES = (1, 2, 4, 8)
_DIGITS = re.compile(rb'[0-9]+')
_LONGEST = 8192
# Most changes of one input.
_STEPS = 4
_MANY = 2000
# What a text, a number or a list is replaced with.
VALUES = (
    None, True, False, 0, -1, 1, 0.5, 65536, 4294967296, 1 << 64, 10 ** 30,
    '', ' ', 'x', '0', '-1', '\n', '\0', '\ud800', '\u0661', 'é' * 300,
    'x' * 20, '/', '..', '../x', '.', ';', '"', "'", '}', '{', '%s', '#',
    '0.0.0.0', '0.0.0.0/0', '::/0', '::', '127.0.0.1', '10.0.0.1/33',
    '198.51.100.10/32', '2001:db8::1/128', 'fe80::1%eth0', '10.0.0.1',
    '::ffff:192.0.2.1', '10.0.0.1\n', '010.0.0.1', '1e400', 'NaN',
    '10.0.0.0/8 }\nflush ruleset\n#', [], {}, [[]], [None], {'': None})


class Mutator:
    """Makes inputs of inputs.

    :param random: random.Random
    :param words: sequence of bytes that mean something to the target
    :param values: sequence of values, for inputs in JSON
    """

    def __init__(self, random, words=(), values=()):
        self._random = random
        self._words = words
        self._values = (*VALUES, *values)
        self._ways = (
            self._flip, self._put, self._insert, self._delete, self._repeat,
            self._number, self._digits, self._splice, self._nest)

    def bytes(self, data, other):
        """Another input of bytes.

        :param data: bytes
        :param other: bytes, another input, of which a part may come in
        """
        for _step in range(self._random.randint(1, _STEPS)):
            if self._words and not self._random.randrange(4):
                data = self._word(data)
            else:
                data = self._random.choice(self._ways)(data, other)
        return data[:_LONGEST]

    def json(self, data, other):
        """Another input in JSON; of bytes when one of them is no JSON."""
        if not self._random.randrange(8):
            return self.bytes(data, other)
        try:
            value, spare = json.loads(data), json.loads(other)
        except (ValueError, RecursionError):
            return self.bytes(data, other)
        for _step in range(self._random.randint(1, _STEPS)):
            value = self._changed(value, spare)
        made = json.dumps(value).encode()
        return made if len(made) <= 4 * _LONGEST else data

    # -- of values --------------------------------------------------------

    def _changed(self, value, spare):
        """A value with a change at one place."""
        path = self._random.choice(list(_places(value)))
        return _exchanged(value, path, self._replacement(
            _at(value, path), spare))

    def _replacement(self, value, spare):
        way = self._random.randrange(6)
        if way == 0:
            return _at(spare, self._random.choice(list(_places(spare))))
        if way == 1 and isinstance(value, list) and value:
            return self._rearranged(value)
        if way == 2 and isinstance(value, dict) and value:
            return self._renamed(value)
        if way == 3 and isinstance(value, str):
            return self.bytes(value.encode('utf-8', 'surrogatepass'),
                              b'x').decode('utf-8', 'replace')
        if way == 4 and type(value) is int:
            return value + self._random.choice((-1, 1, 256, -256))
        if way == 5 and not self._random.randrange(10):
            return _nested(self._random.choice((5, 400)))
        return self._random.choice(self._values)

    def _rearranged(self, value):
        value, index = list(value), self._random.randrange(len(value))
        way = self._random.randrange(4)
        if way == 0:
            del value[index]
        elif way == 1:
            value.insert(index, self._random.choice(self._values))
        elif way == 2:
            value.append(value[index])
        else:
            self._random.shuffle(value)
        return value

    def _renamed(self, value):
        key = self._random.choice(list(value))
        changed = {k: v for k, v in value.items() if k != key}
        if self._random.randrange(2):
            changed[str(self._random.choice(self._values))] = value[key]
        return changed

    # -- of bytes ---------------------------------------------------------

    def _at(self, data, room=0):
        return self._random.randint(0, max(0, len(data) - room))

    def _part(self, data):
        start = self._at(data)
        return start, min(len(data), start + self._random.choice(
            (1, 2, 4, 8, 16, 64)))

    def _flip(self, data, _other):
        if not data:
            return b'\0'
        at = self._at(data, 1)
        return data[:at] + bytes(
            [data[at] ^ 1 << self._random.randrange(8)]) + data[at + 1:]

    def _put(self, data, _other):
        at = self._at(data, 1)
        return data[:at] + bytes([self._random.randrange(256)]) + (
            data[at + 1:])

    def _insert(self, data, _other):
        at = self._at(data)
        return data[:at] + self._random.randbytes(
            self._random.choice((1, 2, 4, 8))) + data[at:]

    def _delete(self, data, _other):
        start, end = self._part(data)
        return data[:start] + data[end:]

    def _repeat(self, data, _other):
        start, end = self._part(data)
        return data[:end] + data[start:end] * self._random.choice(
            (1, 2, 16)) + data[end:]

    def _number(self, data, _other):
        size = self._random.choice(_SIZES)
        at = self._at(data, size)
        value = self._random.choice(_NUMBERS) & (1 << 8 * size) - 1
        return data[:at] + value.to_bytes(
            size, self._random.choice(('big', 'little'))) + data[at + size:]

    def _digits(self, data, other):
        found = list(_DIGITS.finditer(data))
        if not found:
            return self._flip(data, other)
        one = self._random.choice(found)
        text = str(self._random.choice((*_NUMBERS, -1))).encode()
        if not self._random.randrange(20):
            # Python refuses to read more than 4300 digits.
            text = b'9' * 5000
        return data[:one.start()] + text + data[one.end():]

    def _splice(self, data, other):
        start, end = self._part(other)
        at = self._at(data)
        return data[:at] + other[start:end] + data[at:]

    def _nest(self, data, _other):
        if self._random.randrange(20):
            return self._delete(data, b'')
        start, end = self._part(data)
        return (data[:start] + data[start:min(end, start + 4)] * _MANY +
                data[end:])

    def _word(self, data):
        at = self._at(data)
        end = self._random.choice((at, self._at(data)))
        return data[:at] + self._random.choice(self._words) + data[
            max(at, end):]


def _nested(depth):
    value = []
    for _level in range(depth):
        value = [value]
    return value


def _places(value, path=()):
    """The paths of all values in a value."""
    yield path
    if isinstance(value, list | dict):
        items = value.items() if isinstance(value, dict) else (
            enumerate(value))
        if len(path) < 50:
            for key, inner in items:
                yield from _places(inner, (*path, key))


def _at(value, path):
    for key in path:
        value = value[key]
    return value


def _exchanged(value, path, new):
    if not path:
        return new
    first, *rest = path
    made = dict(value) if isinstance(value, dict) else list(value)
    made[first] = _exchanged(made[first], rest, new)
    return made

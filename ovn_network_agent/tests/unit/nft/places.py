# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Packed tables with something hostile in one place."""


class Text(str):
    """What a text is not: its operators may say anything."""


#: what is no value of any field
HOSTILE = (
    None, 70000, -1, 0.5, 2 ** 64, 10 ** 400, float('nan'),
    b'tcp', '', 'x', 'tcp ', 'tcp\n', 'ip }\nflush ruleset\n', '}', '{', '"',
    'include "/etc/passwd"', '192.0.2.1 }', '192.0.2.1\n', ' 192.0.2.1',
    '192.0.2.0/24', '192.0.2.01', '3232235521', 'fe80::1%eth0',
    '2001:db8::1%x }\nflush ruleset\n#', '2001:db8:0::1', '2001:DB8::1',
    '::ffff:192.0.2.1', '127.0.0.1', '0.0.0.0', '255.255.255.255',
    '224.0.0.1', '::', '::1', 'ff02::1', 'fe80::1', '\u0661', '@guarded',
    Text('tcp'), Text('ip'), Text('192.0.2.1'), Text('2001:db8::1'),
    [], ['tcp'], {}, (None,), ((),), ('tcp', 1))


def everywhere(packed, path=()):
    """Where the values of a packed table are, and the tuples themselves."""
    yield path
    if type(packed) is tuple:
        for index, value in enumerate(packed):
            yield from everywhere(value, (*path, index))


def at(packed, path):
    """What is there."""
    for index in path:
        packed = packed[index]
    return packed


def exchanged(packed, path, value):
    """A packed table with another value in one place."""
    if not path:
        return value
    first, *rest = path
    return (*packed[:first], exchanged(packed[first], rest, value),
            *packed[first + 1:])

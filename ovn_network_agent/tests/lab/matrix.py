# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The kinds of clouds in which the main classes run.

A kind is a segment, a family and an announce method.  The main classes show
what an operator does all the time, so they have to pass in all kinds.  All
eight kinds of all main classes would take hours: in a normal run most main
classes have one kind.  With ``LAB_MATRIX=whole`` the other kinds run, too.
"""

import itertools
import os

VARIABLE = 'LAB_MATRIX'
WHOLE = 'whole'
ATTRIBUTES = ('SEGMENT', 'FAMILY', 'METHOD')
KINDS = tuple(itertools.product(('flat', 'vlan'), (4, 6),
                                ('static', 'kernel')))


def kind(case):
    """The kind of a class: (segment, version, announce method)."""
    return tuple(getattr(case, name) for name in ATTRIBUTES)


def others(*cases):
    """The classes for the kinds that no given class has.

    A new class is like the given class with its announce method, or like the
    first one.

    :param cases: classes with the same tests, in the order of preference
    :returns: dict of name to class; empty unless the whole matrix is wanted
    """
    if os.environ.get(VARIABLE, '') != WHOLE:
        return {}
    found = {}
    for wanted in set(KINDS) - {kind(case) for case in cases}:
        case = next((case for case in cases if case.METHOD == wanted[2]),
                    cases[0])
        name = _name(case, *wanted)
        found[name] = type(name, (case,), {
            '__module__': case.__module__, '__doc__': case.__doc__,
            '__qualname__': name, **dict(zip(ATTRIBUTES, wanted,
                                             strict=True))})
    return found


def _name(case, segment, version, method):
    name = case.__name__.removesuffix(case.METHOD.title())
    return f'{name}{segment.title()}{version:d}{method.title()}'

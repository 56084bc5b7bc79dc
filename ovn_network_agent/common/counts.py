# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A number with its noun, as in "1 problem" and "2 addresses"."""


def plural(noun: str) -> str:
    """The noun with its English ending."""
    return noun + ('es' if noun.endswith('s') else 's')


def of(number: int, one: str, many: str = '') -> str:
    """The number, and the words for it.

    :param many: the words for all numbers but 1; default: the plural of one
    """
    return f'{number:d} {one if number == 1 else many or plural(one)}'

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Numbers in texts: "1 problem", "2 addresses", "a, b and 3 more"."""

from collections.abc import Sequence


def plural(noun: str) -> str:
    """The noun with its English ending."""
    return noun + ('es' if noun.endswith('s') else 's')


def of(number: int, one: str, many: str = '') -> str:
    """The number, and the words for it.

    :param many: the words for all numbers but 1; default: the plural of one
    """
    return f'{number:d} {one if number == 1 else many or plural(one)}'


def first(texts: Sequence[str], most: int, between: str = ', ') -> str:
    """The first texts, and how many more there are."""
    more = f' and {len(texts) - most:d} more' if len(texts) > most else ''
    return between.join(texts[:most]) + more

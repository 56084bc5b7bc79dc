# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Words for addresses, in checks of other programs' objects."""

# The most addresses that one line has.
_NAMED = 3


def named(addresses):
    """Some addresses for people.

    :param addresses: collection of addresses
    :returns: text such as '198.51.100.10 and 7 more'
    """
    some = sorted(addresses)
    more = f' and {len(some) - _NAMED:d} more' if len(some) > _NAMED else ''
    return ', '.join(map(str, some[:_NAMED])) + more

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Consistent hashing: the destination of each bucket of clients.

The hash of a client selects a bucket.  Every gateway node computes the same
table from addresses and weights alone, so a client gets the same destination
at each node, and a destination that comes back gets its former clients.

Each bucket prefers some destinations by a score of both (rendezvous hashing:
Thaler and Ravishankar, "Using Name-Based Mappings to Increase Hit Rates",
IEEE/ACM Transactions on Networking 6(1), 1998; with weights: Schindelhauer and
Schomaker, "Weighted Distributed Hash Tables", SPAA 2005).  So few buckets
would be spread unevenly, so each destination has room for its share only, as
in "Consistent Hashing with Bounded Loads" (Mirrokni, Thorup and Zadimoghaddam,
SODA 2018), and best matches come first.

Measured, clients that change their destination when one of N goes, as multiple
of 1/N: 1.0 to 1.3 for up to 6 destinations, 1.4 to 2.6 for up to 24.  The
turn-taking of Maglev (Eisenbud et al., NSDI 2016) came to 1.4 and 2.9 with as
many buckets: it needs about 100 for each destination, and a bucket costs the
load of the table 10 us.
"""

from collections.abc import Mapping
import functools
import hashlib
import math
import typing

# (most shares of the smallest weight, number of buckets).
_SIZES = ((6, 64), (25, 256), (math.inf, 1024))
# Buckets that share their preferences are neighbours in every table, so most
# clients stay when a destination calls for the next size.
_POINTS = 64
_64_BITS = (1 << 64) - 1

# None for a free bucket.
_Table: typing.TypeAlias = list[str | None]


@functools.lru_cache(maxsize=4096)
def owners(weights: frozenset[tuple[str, int]],
           excluded: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The address of the destination of each bucket.

    :param weights: (address, weight > 0), not empty
    :param excluded: addresses of these that get nothing at present
    """
    shares = dict(weights)
    table: _Table = [None] * _size(shares)
    _fill(table, shares)
    if excluded:
        table = [None if owner in excluded else owner for owner in table]
        _fill(table, {address: weight for address, weight in shares.items()
                      if address not in excluded})
    return tuple(filter(None, table))


def _size(shares: Mapping[str, int]) -> int:
    """Number of buckets, enough for even shares: 10 for the smallest one."""
    parts = sum(shares.values()) / min(shares.values())
    return next(size for most, size in _SIZES if parts <= most)


def _fill(table: _Table, shares: Mapping[str, int]) -> None:
    """Give the free buckets away, best matches first."""
    size = len(table)
    quota = _quotas(shares, size)
    for owner in table:
        if owner is not None:
            quota[owner] -= 1
    free = [bucket for bucket, owner in enumerate(table) if owner is None]
    matches = sorted(
        (_scores(address)[bucket * _POINTS // size] / weight,
         _mix(_seed(address), size + bucket), bucket, address)
        for address, weight in shares.items() for bucket in free)
    for _score, _tie, bucket, address in matches:
        if table[bucket] is None and quota[address] > 0:
            table[bucket] = address
            quota[address] -= 1


def _quotas(shares: Mapping[str, int], size: int) -> dict[str, int]:
    """At least 1 for each address; the sum is ``size``."""
    total = sum(shares.values())
    quotas = {address: max(size * weight // total, 1)
              for address, weight in shares.items()}
    rest = size - sum(quotas.values())
    ranked = sorted(
        (address for address in shares if size * shares[address] >= total),
        key=lambda address: (-(size * shares[address] % total),
                             _seed(address)))
    for address in ranked[:max(rest, 0)]:
        quotas[address] += 1
    for _one_too_many in range(-rest):
        largest = max(quotas, key=lambda address: (quotas[address], address))
        quotas[largest] -= 1
    return quotas


@functools.lru_cache(maxsize=4096)
def _scores(address: str) -> tuple[float, ...]:
    """The score of an address at each point; a smaller score is better.

    Exponentially distributed: after a division by the weight, an address wins
    as often as its weight demands.
    """
    return tuple(-math.log((_mix(_seed(address), point) + 1) / 2 ** 64)
                 for point in range(_POINTS))


@functools.lru_cache(maxsize=4096)
def _seed(address: str) -> int:
    return int.from_bytes(hashlib.sha256(address.encode()).digest()[:8])


def _mix(seed: int, number: int) -> int:
    """64 bits, as good as random (SplitMix64, Steele et al. 2014)."""
    bits = (seed + (number + 1) * 0x9e3779b97f4a7c15) & _64_BITS
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9 & _64_BITS
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb & _64_BITS
    return bits ^ bits >> 31

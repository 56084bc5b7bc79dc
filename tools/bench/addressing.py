# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses of a benchmark, and how routers share them."""

# The number of the first present address; those before come and go.
FIRST = 256
# A half of the network is for routers.
_MOST_ROUTERS = 250 * 128


def addresses(first: int, count: int) -> list[str]:
    """Some addresses of the provider network, 198.18.0.0/16."""
    return [f'198.18.{n >> 8}.{n & 255}' for n in range(first, first + count)]


def gateways(count: int) -> list[str]:
    """Addresses of gateway ports, at the end of that network.

    :raises ValueError: when there would be no place for floating IPs
    """
    if not 0 <= count <= _MOST_ROUTERS:
        raise ValueError(f'{count:d} routers are asked for, but 0 to '
                         f'{_MOST_ROUTERS:d} are possible')
    return [f'198.18.{255 - n // 250}.{n % 250 + 1}' for n in range(count)]


def fill(world, some):
    """Deal addresses out to the routers, if there are any."""
    shares = world.routers or 1
    for number in range(shares):
        world.add_fips(some[number::shares], number)

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The names of the kernel devices of provider segments."""

from collections.abc import Collection

# The kernel's limit of the name of a device (IFNAMSIZ), without the NUL.
LONGEST = 15
# The tags that the kernel gives to a device; IEEE 802.1Q reserves 0 and 4095.
TAGS = range(1, 4095)


def device(bridge: str, vlan: int) -> str:
    """Device of a segment (VLAN 0: flat), maybe longer than LONGEST."""
    return f'{bridge}.{vlan:d}' if vlan else bridge


def is_device(name: str, bridges: Collection[str]) -> bool:
    """Whether a device has the name of a segment on one of some bridges."""
    if name in bridges:
        return True
    bridge, _dot, tag = name.rpartition('.')
    return bridge in bridges and tag.isascii() and tag.isdigit() and (
        tag == str(int(tag)) and int(tag) in TAGS)

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The provider bridges, and the kernel devices of their segments."""

from collections.abc import Collection
import typing

# The kernel's limit of the name of a device (IFNAMSIZ), without the NUL.
LONGEST_NAME = 15
# The tags that the kernel gives to a device; IEEE 802.1Q reserves 0 and 4095.
VLAN_TAGS = range(1, 4095)


def served(conf: typing.Any) -> tuple[str, ...]:
    """The bridges that the agent serves, the default bridge first."""
    return (conf.bridge_dev, *conf.further_bridges)


def segment_device(bridge: str, vlan: int) -> str:
    """Device of a segment (VLAN 0: flat), maybe longer than LONGEST_NAME."""
    return f'{bridge}.{vlan:d}' if vlan else bridge


def is_segment_device(name: str, bridges: Collection[str]) -> bool:
    """Whether a device has the name of a segment on one of some bridges."""
    if name in bridges:
        return True
    bridge, _dot, tag = name.rpartition('.')
    return bridge in bridges and tag.isascii() and tag.isdigit() and (
        tag == str(int(tag)) and int(tag) in VLAN_TAGS)

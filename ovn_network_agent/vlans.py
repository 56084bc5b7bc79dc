# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The names of the kernel devices of provider segments."""

from collections.abc import Collection

# The kernel's limit of the name of a device (IFNAMSIZ), without the NUL.
LONGEST = 15
# The tags that the kernel gives to a device; IEEE 802.1Q reserves 0 and 4095.
TAGS = range(1, 4095)


def device(bridge: str, vlan: int) -> str:
    """Name of the device of a segment.

    :param vlan: VLAN tag, 0 for a flat segment
    :returns: a name that may be longer than :data:`LONGEST`
    """
    return f'{bridge}.{vlan:d}' if vlan else bridge


def is_device(name: str, bridges: Collection[str]) -> bool:
    """Whether a device has the name of a segment on one of some bridges."""
    if name in bridges:
        return True
    bridge, _dot, tag = name.rpartition('.')
    return bridge in bridges and tag.isascii() and tag.isdigit() and (
        tag == str(int(tag)) and int(tag) in TAGS)

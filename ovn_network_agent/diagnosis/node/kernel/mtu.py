# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Check that the uplinks take packets as large as the provider bridge does.

Larger frames are dropped without a message, so that only small packets pass.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import os
import typing

from ovn_network_agent import ownership
from ovn_network_agent.conf.options import bridges
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node.kernel import devices

_SYS = '/sys/class/net'


class Sizes(typing.NamedTuple):
    """The MTU of the devices that a packet passes."""

    uplinks: dict[str, int]  # bytes by name
    # Bytes by name: the provider bridge, the veth pair.
    inside: dict[str, int]


def read_mtu(sources: sources.Sources) -> Sizes:
    """Read the MTUs; NotChecked without a VRF, whose devices are uplinks."""
    found, conf = sources.links(), sources.conf
    if not sources.vrf:
        raise check.NotChecked('[frr] vrf_name is empty: in the default VRF, '
                               'any device may be an uplink')
    ends = ownership.VETH_ENDS if veth_leak.enabled(conf) else ()
    return Sizes(
        sizes(link.name for link in devices.uplinks(conf, found)),
        sizes(name for name in (*bridges.served(conf), *ends)
               if name in found))


def sizes(names: Iterable[str]) -> dict[str, int]:
    """The MTU of some devices, without those that are missing."""
    found = {}
    for name in names:
        # A device may go away meanwhile.
        with contextlib.suppress(FileNotFoundError), open(os.path.join(
                _SYS, name, 'mtu')) as opened:
            found[name] = int(opened.read())
    return found


def judge_mtu(found: Sizes) -> Iterator[check.Result]:
    """One finding for each uplink that is too small."""
    if not found.uplinks or not found.inside:
        yield check.not_checked('there is no uplink in the VRF' if found.inside
                                else 'there is no provider bridge')
        return
    largest = max(found.inside.values())
    small = {name: size for name, size in found.uplinks.items()
             if size < largest}
    for name, size in small.items():
        wide = ', '.join(sorted(each for each, bytes_ in found.inside.items()
                                if bytes_ == largest))
        yield check.warn(
            f'{name} has an MTU of {size:d} bytes, and {wide} of '
            f'{largest:d}: small packets pass, and larger ones may get lost '
            'without a message',
            f'"ip link set {name} mtu {largest:d}" here and at the other end '
            'of the link, and in the configuration of the network; or see '
            'that no machine and no tenant network has a larger MTU')
    narrow = {name: size for name, size in found.inside.items()
              if size < largest}
    for name, size in narrow.items():
        yield check.warn(
            f'{name} has an MTU of {size:d} bytes, and others on the same way '
            f'{largest:d}', f'"ip link set {name} mtu {largest:d}"')
    if not small and not narrow:
        yield check.ok(', '.join(f'{name} {size:d} bytes' for name, size in
                                 (found.uplinks | found.inside).items()))


CHECKS = (
    check.Check(
        'mtu', 'kernel', 'the uplinks take packets as large as the provider '
        'bridge and the veth pair do', read_mtu, judge_mtu, ('uplink',)),
)

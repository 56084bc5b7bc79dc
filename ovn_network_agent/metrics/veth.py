# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The counters of the veth pair, as the kernel has them."""

import re

from ovn_network_agent import ownership

DEVICES = (ownership.VETH_DEFAULT, ownership.VETH_PROVIDER)
# The devices of the network namespace of this process.
PATH = '/proc/self/net/dev'
# Fields behind the name of a device: those of received packets, then as many
# of sent ones (the function dev_seq_printf_stats of Linux).
_PACKETS, _DROPPED, _SENT = 1, 3, 8
# A counter has 64 bits.
_FIELD = re.compile(r'(?<!\S)[0-9]{1,20}(?!\S)')


def read(path: str = PATH) -> dict[str, dict[tuple[str, str], int]]:
    """The counters of the pair, by device and direction.

    :returns: see :class:`store.Store`; a device that is not there is missing,
        and all are if the kernel cannot be asked
    """
    try:
        with open(path, encoding='ascii', errors='replace') as opened:
            return parsed(opened.read())
    except OSError:
        return {}


def parsed(text: str) -> dict[str, dict[tuple[str, str], int]]:
    """The counters of the devices, from the text of the kernel."""
    packets: dict[tuple[str, str], int] = {}
    dropped: dict[tuple[str, str], int] = {}
    for line in text.splitlines():
        name, _colon, rest = line.partition(':')
        device = name.strip()
        if device in DEVICES:
            fields = _FIELD.findall(rest)
            if len(fields) <= _SENT + _DROPPED:
                continue
            for direction, first in (('received', 0), ('sent', _SENT)):
                packets[device, direction] = int(
                    fields[first + _PACKETS])
                dropped[device, direction] = int(
                    fields[first + _DROPPED])
    return {'veth_packets_total': packets, 'veth_dropped_total': dropped}

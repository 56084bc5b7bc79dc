# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Many tables, one for each number, and the digests that they have had.

A table in the kernel carries the digest of its text.  An agent that renders
another text loads the table anew on every gateway at its upgrade.  So
``digests.txt`` keeps what the first renderer made of each number.
"""

import random

from ovn_network_agent.drivers import port_forward
from ovn_network_agent.model import port_forwards
from ovn_network_agent.tests.unit import golden

COUNT = 60
DIGESTS = golden.DIRECTORY / 'digests.txt'
_VIPS = {4: '192.0.2.%d', 6: '2001:db8::%x'}
_BACKENDS = {4: '10.0.%d.%d', 6: 'fd00:%x::%x'}


def case(number):
    """One table.

    :param number: 0 or more
    :returns: (version, vips, manner), see :func:`golden.cases`
    """
    one_of = _OneOf(number)
    version = one_of(4, 4, 6)
    manner = port_forward.Manner(
        one_of(1, 64000, 65535), one_of('jhash', 'consistent'),
        one_of(True, False))
    return version, tuple(
        port_forwards.Vip(
            _VIPS[version] % (index + 1),
            hairpin_masquerade=one_of(True, False),
            router_masquerade=one_of(True, False),
            rules=tuple(_rule(one_of, version, port)
                        for port in range(one_of(1, 1, 2, 3))))
        for index in range(one_of(1, 2, 5))), manner


def _rule(one_of, version, port):
    return port_forwards.Rule(
        one_of('tcp', 'udp'), port + 1, one_of(53, 1053, 65535),
        tuple(port_forwards.Destination(
            _BACKENDS[version] % (one_of(1, 2, 3), index + 1),
            one_of(1, 1, 1, 2, 3, 0), one_of(True, True, False))
            for index in range(one_of(1, 1, 2, 3, 7))),
        one_of(True, False))


class _OneOf:
    """Picks one of its arguments, the same in every version of Python."""

    def __init__(self, number):
        # Only random() is promised to stay as it is.
        self._random = random.Random(number).random

    def __call__(self, *choices):
        return choices[int(self._random() * len(choices))]

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

"""A digest of flows that packets and time do not change.

Open vSwitch sends each flow with its age and its counters (OpenFlow 1.3.5,
A.3.5.2), and OpenFlow 1.3 has no request for flows without these.  So they
are set to zero before the digest.
"""

import hashlib

from ovn_network_agent import strides
from ovn_network_agent.openflow import wire

# Bytes of a digest.
SIZE = 16
# From this number of flows in a row on, a slice for each byte is faster than
# two slices for each flow.
_MANY = 24


def of_flows(bodies):
    """The digest of the flows in replies.

    :param bodies: list of bytes, bodies of OFPMP_FLOW replies
    :returns: text
    :raises wire.Malformed: when lengths do not fit
    """
    found = hashlib.blake2b(digest_size=SIZE)
    for body in bodies:
        found.update(_without_counters(body))
    return found.hexdigest()


def _without_counters(body):
    data = bytearray(body)
    start = wire.FIRST_FLOW
    while start < len(body):
        length = wire.flow_length(body, start)
        count = strides.alike(body, start, length, wire.FLOW_LENGTH)
        end = start + count * length
        for first, last in wire.FLOW_COUNTERS:
            if count < _MANY:
                for at in range(start, end, length):
                    data[at + first:at + last] = bytes(last - first)
            else:
                for place in range(start + first, start + last):
                    data[place:end:length] = bytes(count)
        start = end
    return data

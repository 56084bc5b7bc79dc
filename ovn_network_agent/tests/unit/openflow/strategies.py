# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Flows for property tests."""

import ipaddress

from hypothesis import strategies as st

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.openflow import spec as specs

numbers = st.integers(1, 0xfeff)
macs = st.binary(min_size=6, max_size=6).map(lambda b: b.hex(':'))


@st.composite
def flows(draw):
    """Any :class:`spec.FlowSpec` that may be written."""
    cookie = draw(st.sampled_from(sorted(specs.PRIORITIES)))
    family = draw(st.sampled_from((4, 6)))
    addresses = st.ip_addresses(v=family)
    length = draw(st.integers(1, 32 if family == 4 else 128))
    prefixes = addresses.map(lambda a: str(
        ipaddress.ip_network((a, length), strict=False)))
    if cookie == ownership.COOKIE_RELAY:
        ports = sorted(draw(st.sets(numbers, min_size=1, max_size=8)))
        dst, output = prefixes, specs.PORTS + ','.join(map(str, ports))
        in_port = st.just(resources.LOCAL) | numbers.filter(
            lambda number: number not in ports)
    else:
        dst, in_port = st.none() | prefixes, numbers
        output = draw(st.sampled_from((specs.NORMAL, specs.IN_PORT)))
    return specs.check_flow((
        cookie, specs.PRIORITIES[cookie], draw(in_port), family, draw(dst),
        draw(st.none() | macs), draw(st.none() | macs), output))

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tables of port forwarding for hypothesis."""

from hypothesis import strategies

from ovn_network_agent.nft import values

_PORTS = strategies.integers(1, 65535)
_NETWORKS = {4: '10.0.0.0/8', 6: '2001:db8::/32'}


def addresses(version):
    """Canonical texts of addresses of hosts."""
    return strategies.ip_addresses(network=_NETWORKS[version]).map(str)


@strategies.composite
def services(draw, version, keys):
    """A service.

    :param keys: (protocol, port)
    """
    destinations = draw(strategies.lists(
        strategies.builds(values.Destination, addresses(version),
                          strategies.booleans()),
        min_size=1, max_size=4, unique_by=lambda d: d.address))
    shares = draw(strategies.lists(strategies.tuples(
        strategies.integers(0, len(destinations) - 1),
        strategies.integers(1, 1024)), max_size=5))
    return values.Service(*keys, draw(_PORTS), draw(strategies.booleans()),
                          tuple(destinations), tuple(shares))


@strategies.composite
def vips(draw, version, address):
    """A VIP with this address."""
    keys = draw(strategies.lists(
        strategies.tuples(strategies.sampled_from(('tcp', 'udp')), _PORTS),
        min_size=1, max_size=3, unique=True))
    return values.Vip(
        address, draw(strategies.booleans()), draw(strategies.booleans()),
        tuple(draw(services(version, key)) for key in keys))


@strategies.composite
def tables(draw):
    """A table that rules can have."""
    version = draw(strategies.sampled_from((4, 6)))
    found = draw(strategies.lists(addresses(version), min_size=1, max_size=3,
                                  unique=True))
    return values.Table(
        {4: 'ip', 6: 'ip6'}[version], draw(_PORTS),
        draw(strategies.booleans()),
        tuple(draw(vips(version, address)) for address in found),
        draw(strategies.booleans()))

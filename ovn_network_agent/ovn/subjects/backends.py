# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the health checks of OVN say of the backends of load balancers.  Pure.

ovn-northd makes the rows of Service_Monitor, and the backend's chassis writes
the status (ovn-sb(5)).
"""

from collections.abc import Iterator

from ovn_network_agent.common import ip_text
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row

_ONLINE = 'online'


def without(found: queries.Queries, balancer: Row) -> frozenset[str]:
    """The virtual IPs of a load balancer that have no backend, by rows.

    All ports are checked and none is online; no status yet counts as online.
    Neutron's driver adds the floating IP, perhaps without a check.
    """
    vips = dict(balancer.vips)
    checked = {vips.get(columns.atom(row, 'vip')) for row
               in found.referred(balancer, 'health_check')}
    served: set[str] = set()
    dead: set[str] = set()
    for vip, backends in vips.items():
        is_dead = backends in checked and not any(
            _is_online(found, balancer, *backend)
            for backend in _backends(backends))
        (dead if is_dead else served).add(rows.vip_address(vip))
    return frozenset(dead - served)


def _backends(text: str) -> Iterator[tuple[str, int]]:
    """Address and port of each, as in '10.0.0.5:80,[fd00::5]:80'."""
    for backend in text.split(','):
        host, _colon, port = backend.rpartition(':')
        try:
            yield str(ip_text.address(host.strip('[]'))), int(port)
        except ValueError:
            continue


def _is_online(found: queries.Queries, balancer: Row, address: str,
               port: int) -> bool:
    """Whether OVN sends connections to a backend.

    ip_port_mappings ('PORT:SOURCE') has its port: tenants' addresses meet.
    """
    mapping = (columns.entry(balancer, 'ip_port_mappings', address) or
               columns.entry(balancer, 'ip_port_mappings', f'[{address}]'))
    if mapping is None:
        return True
    key = (address, port, columns.atom(balancer, 'protocol', 'tcp'),
           mapping.partition(':')[0])
    monitors = found.rows('sb', 'Service_Monitor', found.find(
        'sb', 'Service_Monitor', 'backend').find(key))
    return not monitors or any(
        columns.atom(row, 'status', _ONLINE) == _ONLINE for row in monitors)

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Load balancers with health checks, as the OVN driver of Octavia has them."""

from lab import echo
from lab import northbound
from lab import routers

_KIND = 'Load_Balancer'
# Of the health checks: seconds, and answers in a row.
_CHECK = {'interval': '1', 'timeout': '1', 'success_count': '1',
          'failure_count': '1'}


def _host(address):
    return f'[{address}]' if ':' in address else address


def vip(address, port=echo.PORT):
    """A key of vips, or a backend in a value."""
    return f'{_host(address)}:{port:d}'


class Balancer:
    """One row of Load_Balancer, on a router and the switch of its members.

    :param source: from which OVN checks the members, None for no checks
    """

    def __init__(self, cloud, router, addresses, machines, source=None,
                 protocol='tcp', port: int = echo.PORT):
        self._cloud, self._name = cloud, 'lb-' + routers.new_uuid()
        self._port = port
        self._backends = ','.join(vip(each.port.address, port)
                                  for each in machines)
        self._mapped = {
            _host(each.port.address): f'{each.port.uuid}:{_host(source)}'
            for each in machines} if source else {}
        cloud.nb.transact(lambda txn, tables: self._write(
            txn, tables, router, addresses, protocol))

    def _write(self, txn, tables, router, addresses, protocol):
        row = northbound.insert(
            txn, tables, _KIND, name=self._name, protocol=protocol,
            vips={vip(each, self._port): self._backends
                  for each in addresses},
            ip_port_mappings=self._mapped)
        if self._mapped:
            row.health_check = [northbound.insert(
                txn, tables, 'Load_Balancer_Health_Check', vip=vip(
                    each, self._port),
                options=_CHECK).uuid for each in addresses]
        for table, name in (('Logical_Router', router.row_name),
                            ('Logical_Switch', router.internal.switch)):
            routers.find_one(tables, table, name=name).addvalue(
                'load_balancer', row.uuid)

    def have(self, addresses):
        """Have other virtual IPs; the checks stay."""
        def write(_txn, tables):
            routers.find_one(tables, _KIND, name=self._name).vips = {
                vip(each, self._port): self._backends for each in addresses}

        self._cloud.nb.transact(write)

    def remove(self):
        """Delete the row."""
        self._cloud.nb.transact(lambda _txn, tables: routers.find_one(
            tables, _KIND, name=self._name).delete())

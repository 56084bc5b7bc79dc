# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Single addresses of machines of tenants in the view."""

from ovn_network_agent.tests.unit.ovn import clouds
from ovn_network_agent.tests.unit.ovn import test_view_tenants as tenants

HERE, AWAY = clouds.HERE, clouds.AWAY
FIVE = '10.0.0.5/32'


class HostsTest(tenants.TenantsTestCase):
    """Single addresses of machines, wherever these are."""

    def setUp(self):
        super().setUp()
        self.network = self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        self.add('vm-1', '10.0.0.5')

    def add(self, port, *addresses, chassis=AWAY, kind='', **row):
        self.cloud.add_machine(
            port, chassis, kind, network=row.pop('network', self.network),
            mac=[' '.join(('fa:16:3e:00:00:aa', *addresses))], **row)

    def eyes(self, method='host', **options):
        return super().eyes(tenant_network__advertisement_method=method,
                            **options)

    def test_machines_come_and_go(self):
        eyes = self.eyes()
        found = self.become(eyes, FIVE)[FIVE]
        self.assertEqual((tenants.NET, '198.51.100.1', 'net'),
                         (found.subnet, found.via, found.network))
        self.add('vm-2', '10.0.0.6', '192.0.2.1', chassis=HERE)
        self.assertIs(found, self.become(eyes, FIVE, '10.0.0.6/32')[FIVE])
        self.cloud.move_machine('vm-2', AWAY, up=False)
        self.become(eyes, FIVE)
        self.add('vm-3', '10.0.0.7', kind='virtual', virtual_parent='vm-1')
        self.add('vm-4', '10.0.0.8', kind='localport')
        self.become(eyes, FIVE, '10.0.0.7/32')
        self.cloud.add_nat('r1', '198.51.100.1', '10.0.0.0/24', 'snat')
        self.assertEqual({tenants.NET}, self.become(eyes).keys())

    def test_a_floating_ip(self):
        eyes = self.eyes()
        self.become(eyes, FIVE)
        self.cloud.add_nat('r1', '198.51.100.9')
        self.assertEqual('its answers leave with its floating IP '
                         '198.51.100.9', self.become(eyes)[FIVE].withheld)
        self.cloud.remove_nat('r1', '198.51.100.9')
        self.become(eyes, FIVE)

    def test_words_and_options(self):
        self.add('vm-2', '10.0.0.200')
        self.become(self.eyes(announce__include_cidrs=['10.0.0.0/25']), FIVE)
        self.become(self.eyes(announce__exclude_networks=['net']))
        eyes = self.eyes()
        self.become(eyes, FIVE, '10.0.0.200/32')
        self.sb.update('Port_Binding', {'logical_port': 'vm-1'},
                       external_ids={tenants.ANNOUNCE: 'false'})
        self.become(eyes, '10.0.0.200/32')

    def test_only_rows_of_the_networks(self):
        """With subnets, no machine's row is here."""
        self.add('vm-9', '10.0.0.9', network=self.cloud.add_network())
        for method, ports in (('host', {'vm-1'}), ('subnet', set())):
            eyes = self.eyes(method)
            eyes.look()
            rows = eyes.rows('sb', 'Port_Binding')
            self.assertEqual(ports, {row.logical_port for row in rows
                                     if row.type == ''})
            self.assertEqual(method == 'host', 'mac' in rows[0]._data)

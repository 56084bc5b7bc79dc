# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Doctor on what a power failure costs, with real databases and a real FRR."""

from ovn_network_agent.diagnosis.node import examination
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.frr import base as frr
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

FAST = {'bfd-min-rx': '200', 'bfd-min-tx': '200', 'bfd-mult': '3'}
INSTANCE = 'router bgp 65001'


class PowerTest(doctor.Looks, base.OvsdbTestCase):

    def setUp(self):
        super().setUp()
        self.in_this_process()
        self.conf = self.of_databases(frr__vrf_name='')
        self.nb.transact(ovsdb.insert('NB_Global'))
        self.sb.transact(ovsdb.insert('SB_Global'))

    def said(self):
        """The check's verdicts and words; ovn-controller is not here."""
        check, = (one for one in examination.CHECKS
                  if one.name == 'power-failure')
        found = sources.Sources(self.conf, [])
        try:
            made = list(check.judge(check.read(found)))
        finally:
            found.close()
        return ([one.verdict for one in made],
                ' '.join(one.evidence for one in made))

    def set(self, server, table, options):
        server.transact(ovsdb.update(table, {}, options=(
            ovsdb.ovsdb_dict(options))))

    def test_tunnels(self):
        """Row BFD-10."""
        verdicts, text = self.said()
        self.assertEqual([doctor.OK], verdicts)
        self.assertIn('after 3.0 s', text)
        self.assertIn('0 tunnels', text)
        # A tunnel of ovn-controller, and a relay of the agent.
        self.ovs.transact(*(ovsdb.insert(
            'Interface', f'i{number:d}', name=f'tunnel{number:d}',
            type='geneve', options=ovsdb.ovsdb_dict({
                'remote_ip': '192.0.2.2', 'key': key}),
            bfd=ovsdb.ovsdb_dict({'enable': 'true'}),
            bfd_status=ovsdb.ovsdb_dict({'state': state}))
            for number, (key, state) in enumerate((
                ('flow', 'up'), ('16777028', 'down')))), *(ovsdb.insert(
                    'Port', f'p{number:d}', name=f'tunnel{number:d}',
                    interfaces=['named-uuid', f'i{number:d}'])
                    for number in range(2)),
            ovsdb.update('Bridge', {}, ports=ovsdb.ovsdb_set(
                [['named-uuid', f'p{number:d}'] for number in range(2)])))
        self.assertIn('1 tunnel', self.said()[1])
        self.set(self.nb, 'NB_Global', FAST)
        self.assertIn('SB_Global has no timers of BFD', self.said()[1])
        self.set(self.sb, 'SB_Global', FAST)
        verdicts, text = self.said()
        self.assertEqual([doctor.WARN], verdicts)
        self.assertIn('tunnels to 192.0.2.2 have other timers', text)
        self.ovs.transact(ovsdb.update(
            'Interface', {'name': 'tunnel0'}, bfd=ovsdb.ovsdb_dict({
                'enable': 'true', 'min_rx': '200', 'min_tx': '200',
                'mult': '3'})))
        verdicts, text = self.said()
        self.assertEqual([doctor.OK], verdicts, text)
        self.assertIn('after 0.6 s', text)


class FabricTest(doctor.Looks, frr.FrrTestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.of_frr_alone(frr.BRIDGE)
        self.in_this_process()
        self.addCleanup(self.frr.restart_bgpd)
        self.frr.wait_for_session()

    def test_hold_time_and_bfd(self):
        """Row BFD-10."""
        self.assertIn('10.0.0.2 has no BFD and a hold time of 180 s',
                      self.looked('bgp-hold-time', doctor.WARN))
        self.frr.configure(INSTANCE, 'neighbor 10.0.0.2 timers 3 9')
        # The session agrees on a hold time when it begins.
        self.frr.vtysh('clear bgp *')
        self.frr.wait_for_session()
        self.assertIn('10.0.0.2 notices after 9 s by the hold time',
                      self.looked('bgp-hold-time', doctor.OK))
        # bfdd does not run here.
        self.frr.configure(INSTANCE, 'neighbor 10.0.0.2 bfd')
        self.addCleanup(self.frr.configure, INSTANCE,
                        'no neighbor 10.0.0.2 bfd')
        self.assertIn('10.0.0.2 has BFD, which is ', self.looked(
            'bgp-hold-time', doctor.WARN))

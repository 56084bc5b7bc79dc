# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which changes of rows give an egress address to another place."""

from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.ovn.egress import egress_rows

E, E2 = '198.51.100.50', '198.51.100.51'


def rows(*nats, name='a', router='r1'):
    return resources.EgressRows(name, router, tuple(nats))


def host(address, chassis, machine='10.0.0.5'):
    return resources.EgressNat(machine, machine, address=address,
                               chassis=chassis)


def nat(address, port='', machine='10.0.0.5'):
    return resources.EgressNat(machine, address, port)


class MovesTest(base.BaseTestCase):

    def test_moves(self):
        for number, before, after in (
                (1, [rows(host(E, 'c1'))], [rows(host(E, 'c2'))]),
                # One for all machines.
                (1, [rows(host(E, 'c1'), host(E, 'c1', '10.0.0.6'))],
                 [rows(host(E, 'c2'), host(E, 'c2', '10.0.0.6'))]),
                (2, [rows(host(E, 'c1')), rows(host(E2, 'c2'), router='r2')],
                 [rows(host(E, 'c2')), rows(host(E2, 'c1'), router='r2')]),
                # Between routers, and between gateway ports.
                (1, [rows(nat(E))], [rows(nat(E), router='r2')]),
                (1, [rows(nat(E, 'lrp-1'))], [rows(nat(E, 'lrp-2'))]),
                # A machine more, a router more on the same node.
                (0, [rows(nat(E))],
                 [rows(nat(E), nat(E, machine='10.0.0.6'))]),
                (0, [rows(host(E, 'c1'))],
                 [rows(host(E, 'c1')), rows(host(E, 'c1'), router='r2')]),
                # New, gone, another address, another object.
                (0, [], [rows(nat(E))]), (0, [rows(nat(E))], []),
                (0, [rows(nat(E))], [rows(nat(E2))]),
                (0, [rows(nat(E))], [rows(nat(E), name='b', router='r2')])):
            self.assertEqual(number, egress_rows.moves(before, after),
                             (before, after))

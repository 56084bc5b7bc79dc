# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Agents with the driver egress_ip, for tests: a cloud and a file."""

import json
import os

import fixtures

from ovn_network_agent import ownership
from ovn_network_agent.backends.northbound import locked_rows
from ovn_network_agent.drivers import egress_ip
from ovn_network_agent.tests.functional.backends import peerings
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services

NAME = 'egress_ip'
MARK = ownership.EXT_ID_EGRESS
TABLES = ('NAT', 'Logical_Router_Policy', 'Address_Set')


class EgressTestCase(services.ServiceTestCase):

    drivers = {NAME: egress_ip.EgressIpDriver}
    names = (NAME,)
    real = {'egress': locked_rows.EgressBackend}

    def setUp(self):
        super().setUp()
        self.routers = {}
        for number in (1, 2):
            name = f'r{number}'
            self.routers[name] = self.cloud.add_router(
                name, [f'198.51.100.{number}/24', f'2001:db8::{number}/64'])
            self.cloud.add_tenant(name, f'net{number}', f'10.0.{number}.1/24',
                                  f'fd00:{number}::1/64')
            self.cloud.add_nat(name, f'198.51.100.{number}',
                               f'10.0.{number}.0/24', 'snat')
        self.transactions = peerings.Transactions(self.nb)
        self.addCleanup(self.transactions.close)
        self.path = self.useFixture(fixtures.TempDir()).join('egress.yaml')
        self.put()

    def put(self, *entries):
        """The text of a file with these entries."""
        self.write(json.dumps({'egress_ips': entries}))

    def write(self, text):
        with open(self.path + '.new', 'w') as opened:
            opened.write(text)
        os.rename(self.path + '.new', self.path)

    def agent(self, **options):
        return super().agent(drivers=[*self.names],
                             egress_ip__file=self.path,
                             **options)

    def ours(self):
        """The marked rows by table and UUID."""
        return {(table, row['_uuid'][1]): row for table in TABLES
                for row in self.nb.rows(table)
                if MARK in dict(row['external_ids'][1])}

    def nats(self):
        """(name, machine, address) of our NAT rows, sorted."""
        return sorted((dict(row['external_ids'][1])[MARK], row['logical_ip'],
                       row['external_ip'])
                      for (table, _uuid), row in self.ours().items()
                      if table == 'NAT')

    def leave(self, *wanted):
        """Wait for NAT rows, (name, machine, address)."""
        self.eventually(lambda: self.nats() == sorted(wanted),
                        lambda: f'{self.nats()} is {sorted(wanted)}')

    def named(self, table, name):
        row, = self.nb.rows(table, '_uuid', where=ovsdb.clauses(
            {'name': name}))
        return row['_uuid']

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the role for kolla-ansible gives Prometheus, Grafana and fluentd."""

import datetime
import logging
import re

from oslo_config import cfg
from oslo_log import log
from oslotest import base
import yaml

from ovn_network_agent.tests.unit.contrib import kolla

FILES = kolla.ROLE / 'files'
GATEWAYS = {'gw1': '192.0.2.1', 'gw2': '192.0.2.2'}


class MonitoringTest(base.BaseTestCase):

    def scraped(self, listen):
        """The targets after kolla-ansible has rendered the placed file."""
        placed = kolla.Role(ovn_network_agent_metrics_listen=listen).file(
            'prometheus.yml.j2')
        kolla.TEXT.filters.update(
            kolla_address=lambda _name, host, **_more: GATEWAYS[host],
            put_address_in_context=lambda address, _context: address)
        job, = yaml.safe_load(kolla.TEXT.from_string(placed).render(
            groups={'ovn-network-agent': list(GATEWAYS)}))['scrape_configs']
        self.assertEqual('ovn-network-agent', job['job_name'])
        return [target for each in job['static_configs']
                for target in each['targets']]

    def test_targets(self):
        for listen in '0.0.0.0:9132', '9132', '[::]:9132':
            self.assertEqual(['192.0.2.1:9132', '192.0.2.2:9132'],
                             self.scraped(listen))

    def test_no_metrics_are_a_fault(self):
        check = yaml.safe_load((kolla.ROLE / 'tasks/monitoring.yml'
                                ).read_text())[0]['ansible.builtin.assert']
        self.assertEqual('ovn_network_agent_metrics_port | int > 0',
                         check['that'])
        self.assertEqual('', kolla.Role()['ovn_network_agent_metrics_port'])

    def test_each_file_of_the_role_is_placed(self):
        places = kolla.Role()['ovn_network_agent_monitoring_files']
        self.assertEqual(set(places), {path.name for path in FILES.iterdir()})
        for name, original in {
                'ovn-network-agent.rules':
                'prometheus/ovn-network-agent.rules.yml',
                'ovn-network-agent.json': 'grafana/ovn-network-agent.json'
                }.items():
            self.assertEqual((kolla.KOLLA.parent / original).read_text(),
                             (FILES / name).read_text())

    @staticmethod
    def written():
        """A line of the log in each format of oslo.log."""
        conf = cfg.ConfigOpts()
        log.register_options(conf)
        conf([])
        record = logging.makeLogRecord({
            'name': 'ovn_network_agent.service', 'levelname': 'WARNING',
            'msg': 'three words here', 'process': 4711, 'instance': '',
            'global_request_id': 'None', 'request_id': 'req-1',
            'user_identity': '- - - - - -', 'msecs': 123,
            'created': datetime.datetime(2026, 11, 29, 4, 35, 33).timestamp()})
        for text in (conf.logging_default_format_string,
                     conf.logging_context_format_string):
            yield logging.Formatter(text, conf.log_date_format).format(record)

    def test_fluentd_understands_the_log(self):
        text = (FILES / 'ovn-network-agent.conf').read_text()
        first, line = (
            re.compile(found.replace('(?<', '(?P<')) for found in
            re.findall(r'^ +format(?:_firstline|1) /(.*)/$', text, re.M))
        for written in self.written():
            self.assertTrue(first.match(written), written)
            found = line.match(written)
            self.assertEqual(
                ('2026-11-29 04:35:33.123', '4711', 'WARNING',
                 'ovn_network_agent.service', 'three words here'),
                found.group('Timestamp', 'Pid', 'log_level', 'python_module',
                            'Payload'))

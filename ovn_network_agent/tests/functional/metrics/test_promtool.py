# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Each alert rule fires when it should and clears again; promtool computes.

promtool is the part of Prometheus that evaluates rules on given series.
"""

import json
import os
import shutil
import subprocess

import fixtures
from oslotest import base

from ovn_network_agent.metrics import declared
from ovn_network_agent.metrics import store
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.unit.metrics import test_dashboard
from ovn_network_agent.tests.unit.metrics import test_rules

AGENT = {'job': 'ovn-network-agent', 'instance': 'gw1'}
# Values of promtool: 'AxN' is A and then N times A, one each minute.
COUNTED = '0x5 1x60'


def gauge(name, bad, good, **values):
    """A gauge that is good, then bad from minute 5 to 24, then good."""
    return {(name, tuple(values.items())): f'{good}x4 {bad}x19 {good}x60'}


def plain(name, values, **labels):
    return {(name, tuple(labels.items())): values}


def counter(name, **labels):
    """A counter that goes up once, at minute 6."""
    return plain(name, COUNTED, **labels)


def slow(name):
    """Observations between 5 and 10 seconds from minute 1 to 10 on."""
    return {
        (name + '_bucket', (('le', '2'),)): '0x100',
        (name + '_bucket', (('le', '5'),)): '0x100',
        (name + '_bucket', (('le', '10'),)): '0+6x10 60x100',
        (name + '_bucket', (('le', '+Inf'),)): '0+6x10 60x100'}


# Alert: series (without the prefix), minute at which it fires, minute at which
# it is clear before or after, and its labels beside those of the agent.
CASES = {
    'Down': (gauge('up', 0, 1), 8, 30, {}),
    'Absent': ({('build_info', (('version', '1'),)): '_x10 1x60'},
               8, 20, {'instance': None, 'job': None}),
    'Restarting': (plain('process_start_time_seconds', '1 2 3 4x90'),
                   5, 60, {}),
    'NotReady': (gauge('ready', 0, 1), 16, 30, {}),
    'NoReconcile': ({
        ('last_reconcile_timestamp_seconds', ()): '0x20 1260x30',
        ('reconcile_interval_seconds', ()): '60x50'}, 10, 22, {}),
    'ReconcileFailing': (counter('reconcile_failures_total'), 8, 30, {}),
    'SlowReconcile': (slow('reconcile_duration_seconds'), 8, 40, {}),
    'ReloadFailed': (counter('config_reload_total', result='error'),
                     8, 40, {'result': 'error'}),
    'NBDisconnected': (gauge('ovn_connection_state', 0, 1, db='nb'),
                       8, 30, {'db': 'nb'}),
    'SBDisconnected': (gauge('ovn_connection_state', 0, 1, db='sb'),
                       8, 30, {'db': 'sb'}),
    'OVSDisconnected': (gauge('ovn_connection_state', 0, 1, db='ovs'),
                        8, 30, {'db': 'ovs'}),
    'NoWriter': (
        gauge('lock_state', 0, 1, lock='peer', state='held'), 8, 30,
        {'lock': 'peer', 'instance': None, 'job': None}),
    'AddressesNotAnnounced': (gauge('announced_ips', 3, 4) |
                              plain('desired_ips', '4x90'), 8, 30, {}),
    'WithdrawalsHeld': (gauge('withdrawals_held', 20, 0), 7, 30, {}),
    'InactiveRoutes': (gauge('inactive_routes', 1, 0), 8, 30, {}),
    'VRFDefaultRouteMissing': (
        gauge('vrf_default_route_present', 0, 1) |
        plain('announced_vips', '0x90') | plain('local_routers', '2x90'),
        12, 30, {}),
    'SlowFailoverAnnounce': (slow('failover_announce_seconds'), 8, 80, {}),
    'NexthopRepaired': (counter('nexthop_repairs_total'), 8, 80, {}),
    'PortServedByNobody': (
        gauge('gateway_port_served', 0, 1, port='lrp-1'), 8, 30,
        {'port': 'lrp-1', 'instance': None, 'job': None}),
    'PortServedTwice': (
        gauge('gateway_port_served', 1, 0, port='lrp-1') |
        {('gateway_port_served', (('port', 'lrp-1'),
                                  ('instance', 'gw2'))): '1x90'}, 12, 30,
        {'port': 'lrp-1', 'instance': None, 'job': None}),
    'BackendUnreadable': (gauge('backend_readable', 0, 1, backend='flow'),
                          12, 30, {'backend': 'flow'}),
    'HairpinFlowsMissing': (gauge('hairpin_flows_installed', 3, 4) |
                            plain('hairpin_flows_desired', '4x90'),
                            8, 30, {}),
    'FlowApplyErrors': (counter('ovs_flow_apply_errors_total',
                                flow='hairpin'), 8, 30,
                        {'flow': 'hairpin'}),
    'RouteInstability': (gauge('consecutive_readds', 3, 2, backend='route'),
                         8, 30, {'backend': 'route'}),
    'RouteFlapping': (counter('route_drift_total', plane='frr'), 8, 30,
                      {'plane': 'frr'}),
    'FlowFlapping': (counter('ovs_flow_drift_total', flow='mactweak'), 8, 30,
                     {'flow': 'mactweak'}),
    'FRRRestarted': (counter('frr_restarts_total'), 8, 40, {}),
    'OVSRestarted': (counter('ovs_restarts_total'), 8, 40, {}),
    # The series ends with the process, soon after.
    'DrainFailed': (plain('drain_total', '0x5 1 stale', result='timeout'),
                    8, 40, {'result': 'timeout'}),
    'StaleCleanupFailed': (counter('stale_chassis_cleanup_total',
                                   result='error'), 8, 60,
                           {'result': 'error'}),
    'EgressUnassigned': (
        gauge('egress_ip_places', 1, 0, state='unassigned'), 21, 40,
        {'instance': None, 'job': None}),
    'EgressNodeUnreachable': (
        gauge('egress_chassis_reachable', 0, 1, chassis='c1'), 8, 30,
        {'chassis': 'c1', 'instance': None, 'job': None}),
    'VIPNowhere': (gauge('vip_announced', 0, 1, address='192.0.2.1'), 8, 30,
                   {'address': '192.0.2.1', 'instance': None, 'job': None}),
    'VIPDown': (gauge('vips', 1, 0, state='down'), 8, 30,
                {'state': 'down'}),
    'VIPRefused': (gauge('vips', 1, 0, state='refused'), 8, 30,
                   {'state': 'refused'}),
    'VIPBackendDead': (
        gauge('vip_backends_alive', 1, 2, address='192.0.2.1', proto='tcp',
              port='80') |
        plain('vip_backends', '2x90', address='192.0.2.1', proto='tcp',
              port='80'), 12, 30,
        {'address': '192.0.2.1', 'proto': 'tcp', 'port': '80'}),
}
FOREIGN = ('up', 'process_start_time_seconds')


def series(found):
    """The series of a case as promtool wants them."""
    for (name, labels), values in found.items():
        full = name if name in FOREIGN else declared.PREFIX + name
        text = ','.join(f'{label}="{value}"' for label, value
                        in (AGENT | dict(labels)).items())
        yield {'series': f'{full}{{{text}}}', 'values': values}


def test_of(rule, case):
    """The test of a rule for promtool: fires, and is clear."""
    found, fires, clear, labels = case
    labels = {name: value for name, value in (
        AGENT | labels | rule['labels']).items() if value is not None}
    about = {'alertname': rule['alert']}
    return {
        'name': rule['alert'], 'interval': '1m',
        'input_series': list(series(found)),
        'alert_rule_test': [
            {**about, 'eval_time': f'{fires:d}m', 'exp_alerts': [
                {'exp_labels': labels,
                 'exp_annotations': rule['annotations']}]},
            {**about, 'eval_time': f'{clear:d}m', 'exp_alerts': []}]}


@needs.needs(shutil.which('promtool'), 'promtool is in package prometheus')
class PromtoolTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.path = os.path.join(
            self.useFixture(fixtures.TempDir()).path, 'test.yml')

    def promtool(self, *args, given=None):
        ended = subprocess.run(
            ['promtool', *args], input=given, stdin=None if given else
            subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        return ended.returncode, (ended.stdout + ended.stderr).decode()

    def tries(self, tests):
        with open(self.path, 'w') as opened:
            json.dump({'rule_files': [str(test_rules.RULES)],
                       'evaluation_interval': '1m', 'tests': tests}, opened)
        return self.promtool('test', 'rules', self.path)

    def test_the_rules_can_be_read(self):
        status, said = self.promtool('check', 'rules', str(test_rules.RULES))
        self.assertEqual(0, status, said)

    def test_each_rule_has_a_case(self):
        self.assertEqual({rule['alert'].removeprefix('OVNNetworkAgent')
                          for rule in test_rules.rules()}, set(CASES))

    def test_each_rule_fires_and_clears(self):
        status, said = self.tries([
            test_of(rule, CASES[rule['alert'].removeprefix(
                'OVNNetworkAgent')]) for rule in test_rules.rules()])
        self.assertEqual(0, status, said)

    def test_a_healthy_fleet_has_no_alert(self):
        """Also while a gateway port is handed over."""
        page = self.healthy()
        status, said = self.tries([self.quiet(page)])
        self.assertEqual(0, status, said)
        # And what is not healthy is seen.
        page['up', ()] = '0x60'
        status, said = self.tries([self.quiet(page)])
        self.assertNotEqual(0, status, said)
        self.assertIn('OVNNetworkAgentDown', said)

    def healthy(self):
        page = {}
        for metric in declared.METRICS:
            values = {'ready': '1x60', 'build_info': '1x60',
                      'reconcile_interval_seconds': '60x60',
                      'last_reconcile_timestamp_seconds': '0+60x60',
                      'ovn_connection_state': '1x60', 'lock_state': '1x60',
                      'backend_readable': '1x60', 'vip_announced': '1x60',
                      'vrf_default_route_present': '1x60',
                      'local_routers': '2x60', 'desired_ips': '5x60',
                      'announced_ips': '5x60', 'vip_backends': '2x60',
                      'vip_backends_alive': '2x60',
                      'egress_chassis_reachable': '1x60'}.get(
                          metric.name, '0x60')
            if metric.kind is not declared.Kind.HISTOGRAM:
                page[metric.name, tuple(
                    (label, (values_ or ('x',))[0]) for label, values_
                    in metric.labels.items())] = values
        page['gateway_port_served', (('port', 'x'),)] = '1x20 0x40'
        page['gateway_port_served', (('port', 'x'), ('instance', 'gw2'))] = (
            '0x18 1x42')
        page['up', ()] = '1x60'
        return page

    def quiet(self, page):
        """A test of promtool that there is no alert at any time."""
        return {
            'interval': '1m', 'input_series': list(series(page)),
            'promql_expr_test': [
                {'expr': 'ALERTS{alertstate="firing"}',
                 'eval_time': f'{minute:d}m', 'exp_samples': []}
                for minute in (10, 21, 24, 40, 59)]}

    def test_a_test_that_must_fail(self):
        rule = next(iter(test_rules.rules()))
        found, fires, clear, labels = CASES['Down']
        status, said = self.tries([test_of(rule, (found, clear, fires,
                                                  labels))])
        self.assertNotEqual(0, status, said)

    def test_the_dashboard_has_expressions_that_can_be_read(self):
        expressions = [
            expression.replace('$__rate_interval', '5m')
            for panel in json.loads(test_dashboard.DASHBOARD.read_text())[
                'panels']
            for expression in (target['expr'] for target
                               in panel.get('targets', ()))]
        with open(self.path, 'w') as opened:
            json.dump({'groups': [{'name': 'dashboard', 'rules': [
                {'record': f'panel{number:d}', 'expr': expression}
                for number, expression in enumerate(expressions)]}]}, opened)
        status, said = self.promtool('check', 'rules', self.path)
        self.assertEqual(0, status, said)
        self.assertIn(f'{len(expressions):d} rules found', said)

    def test_promtool_finds_no_fault_with_the_page(self):
        made = store.Store({'backend': ['route'], 'kind': ['rule']},
                           lambda: {'desired_ips': 1})
        status, said = self.promtool('check', 'metrics', given=made.page())
        self.assertEqual((0, ''), (status, said))

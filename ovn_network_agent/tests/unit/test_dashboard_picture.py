# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The picture of the dashboard shows what Prometheus has answered."""

import http.server
import json
import math
import threading
import urllib.parse
import xml.etree.ElementTree

import fixtures
from oslotest import base

from ovn_network_agent.tests import tools

dashboard = tools.load('dashboard')
charts = dashboard.charts
# Seconds since 1970 and between two scrapes.
START, STEP = 1000.0, 10.0
WINDOW = dashboard.Window(START, START + 100, STEP)


def texts_of(test, panel, start, end):
    """The texts of a picture with one panel."""
    path = test.useFixture(fixtures.TempDir()).join('drawn.svg')
    charts.write([panel], start, end, path)
    return [one.text for one in xml.etree.ElementTree.parse(path).iter()
            if one.tag.endswith('}text')]


class AnswersTest(base.BaseTestCase):
    """Against a server with fixed answers."""

    def setUp(self):
        super().setUp()
        answers = self.answers = {}

        class Handler(http.server.BaseHTTPRequestHandler):

            def do_GET(self):
                path, _mark, query = self.path.partition('?')
                params = dict(urllib.parse.parse_qsl(query))
                status, content = answers[path.rpartition('/')[2]](params)
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args):
                pass

        server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.server = dashboard.Prometheus(
            f'http://127.0.0.1:{server.server_port:d}')
        self.asked = []

    def answering(self, *found):
        def answer(params):
            self.asked.append(params['query'])
            return 200, {'data': {'result': list(found)}}
        self.answers['query_range'] = self.answers['query'] = answer

    def series(self, expression, legend='{{instance}}', **more):
        return dashboard.series_of(
            {'expr': expression, 'legendFormat': legend, **more},
            {'instance': '(gw1|gw2)'}, self.server, WINDOW)

    def test_curves(self):
        self.answering({'metric': {'instance': 'gw1', 'phase': 'running'},
                        'values': [[START, '1'], [START + STEP, '2']]})
        found, = self.series('rate(x{instance=~"$instance"}'
                             '[$__rate_interval])', '{{instance}} {{phase}}')
        self.assertEqual('gw1 running', found.name)
        self.assertEqual(((START, 1.0), (START + STEP, 2.0)), found.points)
        self.assertEqual(['rate(x{instance=~"(gw1|gw2)"}[40000ms])'],
                         self.asked)

    def test_the_present_value(self):
        self.answering({'metric': {}, 'value': [START, '7']})
        found, = self.series('x', instant=True)
        self.assertEqual(((START, 7.0),), found.points)

    def test_a_quantile_of_nothing_is_no_data(self):
        self.answering({'metric': {}, 'values': [[START, 'NaN']]})
        self.assertEqual([], self.series('x'))

    def test_values_of_variables_are_texts_and_no_patterns(self):
        self.answers['series'] = lambda params: (200, {'data': [
            {'instance': 'gw2'}, {'instance': 'gw1.example'}]})
        values = dashboard.variables(
            {'templating': {'list': [
                {'type': 'query', 'name': 'instance',
                 'definition': 'label_values(x{job=~"a"}, instance)'}]}},
            self.server, WINDOW)
        self.assertEqual(r'x{instance=~"(gw1\\.example|gw2)"}',
                         dashboard.filled('x{instance=~"$instance"}', values))

    def test_an_expression_that_is_refused(self):
        self.answers['query_range'] = lambda params: (
            400, {'error': 'parse error'})
        found, = dashboard.read({
            'templating': {'list': []}, 'panels': [{
                'title': 'one', 'type': 'timeseries',
                'gridPos': {'x': 0, 'y': 0, 'w': 8, 'h': 8},
                'targets': [{'expr': 'x(', 'legendFormat': ''}]}]},
            self.server, WINDOW)
        self.assertEqual('parse error', found.error)
        self.assertEqual(1, dashboard.report([found]))
        self.assertIn('parse error', texts_of(self, found, 0, 60))

    def test_nobody_answers(self):
        self.assertEqual(2, dashboard.main(
            ['--prometheus', 'http://127.0.0.1:1']))


class ChartsTest(base.BaseTestCase):

    def panel(self, *series, kind='timeseries', **more):
        return charts.Panel('A <title>', kind, (0, 0, 8, 8), series, **more)

    def drawn(self, panel):
        return texts_of(self, panel, START, START + 100)

    def test_a_gap_is_not_drawn(self):
        points = [(START + STEP * n, float(n)) for n in (0, 1, 2, 5, 6, 9)]
        self.assertEqual([0, 1, 2, None, 5, 6, None, 9], [
            None if math.isnan(value) else value
            for _at, value in charts.with_gaps(points)])
        self.assertIn('gw1', self.drawn(self.panel(
            charts.Series('gw1', tuple(points)))))

    def test_a_panel_without_data_says_so(self):
        self.assertEqual(['A <title>', 'no data'],
                         sorted(self.drawn(self.panel())))

    def test_a_tile_has_the_text_of_its_value(self):
        self.assertIn('gw1 down', self.drawn(self.panel(
            charts.Series('gw1', ((START, 1.0), (START, 0.0))), kind='stat',
            mappings={'0': ('down', 'red'), '1': ('up', 'green')})))

    def test_units(self):
        for value, unit, expected in (
                (0.25, 's', '250 ms'), (2, 's', '2 s'), (0.5, 'ops', '0.5 /s'),
                (3 << 20, 'bytes', '3 MiB'), (0.05, 'percentunit', '5 %'),
                (7, 'short', '7')):
            self.assertEqual(expected, charts.number(value, unit))

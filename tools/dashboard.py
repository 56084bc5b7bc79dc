#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Draws contrib/grafana/ovn-network-agent.json from a running Prometheus.

Asks for the expressions of all panels as Grafana does, and draws all panels as
one picture (SVG).  So a panel without data, or with an expression that
Prometheus refuses, is seen without Grafana.  The picture only resembles that
of Grafana.

Prints the number of series of each panel.  The exit status is 0, 1 if a panel
has no data or an error, and 2 if Prometheus does not answer.
"""

import argparse
import dataclasses
import http.client
import json
import pathlib
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / 'tools')]

import charts  # noqa: E402

DASHBOARD = ROOT / 'contrib' / 'grafana' / 'ovn-network-agent.json'
_TIMEOUT = 30
# Points of a curve, about as many as Grafana asks for.
_POINTS = 300
# Values of the variable $__rate_interval: four scrapes, and not less than a
# step and a scrape.
_SCRAPES = 4


class Unanswered(Exception):
    """Prometheus does not answer; the text says why."""


class Refused(Exception):
    """Prometheus refuses an expression; the text says why."""


@dataclasses.dataclass(frozen=True)
class Window:
    """The time of the picture, seconds since 1970, and its step, seconds."""

    start: float
    end: float
    scrape: float

    @property
    def step(self):
        """Seconds between two points of a curve, one scrape at least."""
        return max(self.scrape, (self.end - self.start) / _POINTS)

    @property
    def rate_interval(self):
        """Seconds of the variable ``$__rate_interval`` of Grafana."""
        return max(self.step + self.scrape, _SCRAPES * self.scrape)


class Prometheus:
    """A server, by its URL without a path."""

    def __init__(self, url):
        self._url = url.rstrip('/')

    def ask(self, path, **params):
        """The data of an answer.

        :param path: below /api/v1/
        :raises Refused: when the server cannot evaluate the question
        :raises Unanswered: when there is no answer
        """
        url = f'{self._url}/api/v1/{path}?{urllib.parse.urlencode(params)}'
        try:
            with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer:
                return json.load(answer)['data']
        except urllib.error.HTTPError as e:
            raise Refused(_reason(e)) from e
        except (OSError, ValueError, http.client.HTTPException) as e:
            raise Unanswered(f'{self._url}: {e}') from e


def _reason(error):
    try:
        return json.load(error)['error']
    except (ValueError, KeyError):
        return str(error)


# -- the dashboard -----------------------------------------------------------

def panels(dashboard):
    """All panels, those of closed rows included, as a list of dict."""
    found = []
    for panel in dashboard['panels']:
        found += [panel, *panel.get('panels', ())]
    return found


def variables(dashboard, server, window) -> dict:
    """The values of the variables, with "All" chosen."""
    found = {}
    for variable in dashboard['templating']['list']:
        if variable['type'] == 'query':
            match = re.fullmatch(r'label_values\((.*), *(\w+)\)',
                                 variable['definition'])
            series = server.ask(
                'series', start=window.start, end=window.end,
                **{'match[]': filled(match[1], found)})
            values = sorted({one[match[2]] for one in series})
            found[variable['name']] = f'({"|".join(map(re.escape, values))})'
    return found


def filled(expression, values):
    """An expression with the values of its variables."""
    for name in sorted(values, key=len, reverse=True):
        # A backslash is written twice in a string of PromQL.
        expression = expression.replace(
            '$' + name, values[name].replace('\\', '\\\\'))
    return expression


def series_of(target, values, server, window):
    """The answer to one target of a panel, a list of :class:`charts.Series`.

    :raises Refused: as :meth:`Prometheus.ask`
    """
    expression = filled(target['expr'], {
        **values, '__rate_interval': f'{window.rate_interval * 1000:.0f}ms'})
    if target.get('instant'):
        data = server.ask('query', query=expression, time=window.end)
        found = [(one['metric'], [one['value']]) for one in data['result']]
    else:
        data = server.ask('query_range', query=expression, step=window.step,
                          start=window.start, end=window.end)
        found = [(one['metric'], one['values']) for one in data['result']]
    return [made for made in (charts.Series(
        _legend(target['legendFormat'], labels),
        tuple((float(at), float(value)) for at, value in points))
        for labels, points in found) if made.is_known]


def _legend(pattern, labels):
    return re.sub(r'\{\{(\w+)\}\}', lambda match: labels.get(match[1], ''),
                  pattern).strip()


def read(dashboard, server, window):
    """All panels with their data, a list of :class:`charts.Panel`."""
    values = variables(dashboard, server, window)
    found = []
    for panel in panels(dashboard):
        series, error = [], ''
        for target in panel.get('targets', ()):
            try:
                series += series_of(target, values, server, window)
            except Refused as e:
                error = str(e)
        found.append(_panel(panel, series, error))
    return found


def _panel(panel, series, error):
    defaults = panel.get('fieldConfig', {}).get('defaults', {})
    mappings = {value: (one['text'], one['color'])
                for mapping in defaults.get('mappings', ())
                for value, one in mapping['options'].items()}
    place = panel['gridPos']
    return charts.Panel(
        panel['title'], panel['type'],
        (place['x'], place['y'], place['w'], place['h']),
        tuple(series), defaults.get('unit', 'short'), mappings, error)


def main(argv=None):
    """Ask and draw; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--dashboard', type=pathlib.Path, default=DASHBOARD,
                        metavar='FILE')
    parser.add_argument('--prometheus', default='http://127.0.0.1:9090',
                        metavar='URL', help='default: %(default)s')
    parser.add_argument('--last', type=float, default=6 * 3600,
                        metavar='SECONDS', help='default: %(default)s')
    parser.add_argument('--scrape', type=float, default=15,
                        metavar='SECONDS', help='time between two scrapes; '
                        'default: %(default)s')
    parser.add_argument('--write', type=pathlib.Path, metavar='FILE')
    args = parser.parse_args(argv)
    now = time.time()
    window = Window(now - args.last, now, args.scrape)
    try:
        found = read(json.loads(args.dashboard.read_text()),
                     Prometheus(args.prometheus), window)
    except Unanswered as e:
        print(e, file=sys.stderr)
        return 2
    if args.write:
        charts.write(found, window.start, window.end, args.write)
    return report(found)


def report(found):
    """Print the number of series of each panel; returns the exit status."""
    shown = [panel for panel in found if panel.kind != 'row']
    for panel in shown:
        print(f'{len(panel.series):4d}  {panel.title}'
              + (f': {panel.error}' if panel.error else ''))
    return int(any(panel.error or not panel.series for panel in shown))


if __name__ == '__main__':
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A real Prometheus with the alert rules of contrib, faster than in real use.

The rules are those that operators get; only their durations are divided.
"""

import json
import os
import pathlib
import re
import urllib.parse

import yaml

RULES = (pathlib.Path(__file__).resolve().parents[2] / 'contrib' /
         'prometheus' / 'ovn-network-agent.rules.yml')
PREFIX = 'OVNNetworkAgent'
JOB = 'ovn-network-agent'
# Seconds between two scrapes, and between two evaluations of the rules.
EVERY = 1
_UNITS = {'s': 1, 'm': 60, 'h': 3600}


def faster(rules, divisor):
    """Divide the time for which a condition has to last.

    :param rules: content of a file of rules, as :mod:`yaml` reads it
    :param divisor: number
    :returns: the same content with other values of ``for``
    :raises ValueError: for a duration that is not a number with a unit
    """
    return {'groups': [
        {**group, 'rules': [
            {**rule, 'for': _divided(rule['for'], divisor)}
            if 'for' in rule else rule for rule in group['rules']]}
        for group in rules['groups']]}


def _divided(duration, divisor):
    found = re.fullmatch(r'(\d+)([smh])', duration)
    if found is None:
        raise ValueError(f'{duration!r} is no number with one of the units '
                         f'{", ".join(_UNITS)}')
    milliseconds = int(found[1]) * _UNITS[found[2]] * 1000 / divisor
    return f'{milliseconds:.0f}ms'


def files(targets, divisor):
    """The files of a server.

    :param targets: dict of node to 'address:port' of the listener there
    :param divisor: see :func:`faster`
    :returns: dict of name to text
    """
    every = f'{EVERY:d}s'
    rules = faster(yaml.safe_load(RULES.read_text()), divisor)
    config = {
        'global': {'scrape_interval': every, 'scrape_timeout': every,
                   'evaluation_interval': every},
        'rule_files': ['rules.yml'],
        'scrape_configs': [{'job_name': JOB, 'static_configs': [
            {'targets': [target], 'labels': {'instance': name}}
            for name, target in targets.items()]}]}
    return {'rules.yml': yaml.safe_dump(rules),
            'prometheus.yml': yaml.safe_dump(config)}


def command(directory, listen):
    """argv of a server.

    :param directory: path of the directory with the :func:`files`
    :param listen: 'address:port'
    """
    return ['prometheus', '--config.file',
            os.path.join(directory, 'prometheus.yml'),
            '--storage.tsdb.path', os.path.join(directory, 'tsdb'),
            '--web.listen-address', listen]


class Server:
    """A server, as its clients see it.

    :param ask: function of a path that returns (status, text); the status is
        0 when nobody listens
    """

    def __init__(self, ask):
        self._ask = ask

    def query(self, expression):
        """The present result of an expression.

        :returns: list of (dict of label to value, float); None when the
            server does not answer
        """
        status, text = self._ask('/api/v1/query?' + urllib.parse.urlencode(
            {'query': expression}))
        if status != 200:
            return None
        return [(one['metric'], float(one['value'][1]))
                for one in json.loads(text)['data']['result']]

    def nodes(self, expression):
        """Names of the nodes in the result of an expression, a set."""
        return {labels['instance'] for labels, _value
                in self.query(expression) or ()}

    def firing(self):
        """Alerts that fire, a set of (name, node or port), or None."""
        return self._alerts('ALERTS{alertstate="firing"}')

    def fired(self):
        """The same for all alerts that have ever fired."""
        return self._alerts(
            'count_over_time(ALERTS{alertstate="firing"}[1h])')

    def _alerts(self, expression):
        found = self.query(expression)
        return None if found is None else {
            (labels['alertname'].removeprefix(PREFIX),
             labels.get('instance') or labels.get('port', ''))
            for labels, _value in found}

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Watches a node from outside while one program replaces another."""

import contextlib
import os
import re

from ovn_network_agent.tests import monitors

_MARK = '203.0.113.1'
_TABLE = '99'
_NUMBER = re.compile(rf'{re.escape(_MARK)} .* metric (\d+)')
_WITHDRAWN = re.compile(r'UPDATE about (\S+) .*-- withdrawn')


@contextlib.contextmanager
def kernel(namespace):
    """Have the kernel tell of routes, rules, addresses and devices.

    :param namespace: :class:`valuespaces.Namespace`
    :returns: context with a function that gives the lines so far
    """
    def mark(number):
        for verb in 'add', 'del':
            namespace.run('ip', 'route', verb, _MARK, 'dev', 'lo', 'table',
                          _TABLE, 'metric', str(number))

    with monitors.telling(
            namespace.inside('ip', '-N', '-d', '-o', 'monitor', 'route',
                             'rule', 'address', 'link'),
            mark, _NUMBER) as lines:
        yield lambda: [line for line in lines()
                       if f' table {_TABLE} ' not in line + ' ']


@contextlib.contextmanager
def withdrawals(host):
    """Have the neighbour of FRR write down what is withdrawn.

    :param host: :class:`host.Host`
    :returns: context with a function that gives the prefixes so far, a set
    """
    path = os.path.join(host.neighbour.rundir, 'updates.log')
    host.neighbour.configure(f'log file {path} debugging')
    host.neighbour.vtysh('debug bgp updates in')

    def found():
        with open(path) as opened:
            return set(_WITHDRAWN.findall(opened.read()))

    try:
        yield found
    finally:
        host.neighbour.vtysh('no debug bgp updates in')
        host.neighbour.configure(f'no log file {path} debugging')

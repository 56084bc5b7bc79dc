# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The control node: both OVN databases and northd."""

import os

from lab import node as nodes
from lab import plan

SCHEMAS = {'nb': '/usr/share/ovn/ovn-nb.ovsschema',
           'sb': '/usr/share/ovn/ovn-sb.ovsschema'}


def prepare(node):
    """Create both databases."""
    for name, schema in SCHEMAS.items():
        node.run(['ovsdb-tool', 'create', _file(name), schema])


def start(node):
    """Start the database servers and northd."""
    for name, port in (('nb', 6641), ('sb', 6642)):
        start_database(node, name, port)
    for name in SCHEMAS:
        nodes.wait_until(f'{node.name} serves {name}', lambda n=name:
                         os.path.exists(node.path(_socket(n))))
    node.spawn('northd', [
        'ovn-northd', '--ovnnb-db=unix:' + _socket('nb'),
        '--ovnsb-db=unix:' + _socket('sb'), '-vconsole:warn',
        '--pidfile=/run/ovn/ovn-northd.pid'])


def start_database(node, name, port=None):
    """Start one database server: 'nb' or 'sb'."""
    port = port or {'nb': 6641, 'sb': 6642}[name]
    node.spawn(name, [
        'ovsdb-server', '-vconsole:warn', '--remote=punix:' + _socket(name),
        f'--remote=ptcp:{port:d}:{plan.HOSTS["central"]}',
        f'--pidfile=/run/ovn/ovn{name}_db.pid',
        f'--unixctl=/run/ovn/ovn{name}_db.ctl', _file(name)])


def remote(node, name):
    """The database as it is reached from outside of the node."""
    return 'unix:' + node.path(_socket(name))


def _file(name):
    return f'/var/lib/ovn/ovn{name}_db.db'


def _socket(name):
    return f'/run/ovn/ovn{name}_db.sock'

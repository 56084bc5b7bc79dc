# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent's part of a report of a bug: what only the agent knows.

A section that fails says why, without an effect on others.
"""

import argparse
from collections.abc import Callable
from collections.abc import Mapping
import faulthandler
import functools
import importlib.metadata
import json
import os
import platform
import re
import sys
import tempfile
import threading
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import privileged
from ovn_network_agent import version
from ovn_network_agent.conf import effective
from ovn_network_agent.conf import log_levels
from ovn_network_agent.frr import setup
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.privileged import nft
from ovn_network_agent.privileged.daemon import context as contexts
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.privileged.switch import ovsdb
from ovn_network_agent.runtime import pass_log

LOG = logging.getLogger(__name__)

_NAME = re.compile(r'[\w.-]+')
# What faulthandler writes above each stack.
_THREAD = re.compile(r'^(?:Current t|T)hread 0x(\w+).*\n', re.MULTILINE)


class BugReport:
    """Makes the report."""

    def __init__(self, conf: cfg.ConfigOpts,
                 databases: Mapping[str, connection.Database],
                 status: Callable[[], dict[str, Any]],
                 health: Callable[[], dict[str, Any]],
                 passes: Callable[[], tuple[pass_log.Done, ...]]) -> None:
        self._conf = conf
        self._databases = databases
        self._sections: dict[str, Callable[[], Any]] = {
            'agent': lambda: {
                'pid': os.getpid(), 'uid': os.geteuid(), 'argv': sys.argv,
                'threads': threading.active_count()},
            'versions': self._versions,
            'configuration': lambda: effective.shown(conf),
            'files': lambda: {
                'config_file': list(conf.config_file or ()),
                'config_dir': list(conf.config_dir or ())},
            'status': status, 'health': health,
            'databases': self._replicas,
            'passes': lambda: [done._asdict() for done in passes()],
            'threads': threads, 'log': lambda: log_levels.last_log.lines}

    def run(self, arguments: argparse.ArgumentParser, argv: list[str]) -> str:
        """Make the report, see :class:`commands.Table`."""
        arguments.parse_args(argv)
        found = {name: tried(make)
                 for name, make in self._sections.items()}
        return json.dumps(effective.everywhere(
            found, effective.secrets(self._conf)))

    def _versions(self) -> dict[str, Any]:
        return {'agent': version.STRING, **libraries(), 'programs': {
            'ovn-controller': _answer_of(privileged.ovs, lambda: ', '.join(
                ovsdb.read_state())),
            'frr': _answer_of(privileged.frr, self._frr),
            'nft': _answer_of(privileged.netfilter, nft.read_version),
            'openvswitch': tried(self._switch)}}

    def _frr(self) -> str:
        return setup.Setup(*bgp.read_setup(
            self._conf.frr.vrf_name, self._conf.frr.frr_prefix_list)).version

    def _switch(self) -> str:
        if 'ovs' not in self._databases:
            return ''
        with self._databases['ovs'].rows() as ovs:
            return next((''.join(row.ovs_version) for row
                         in ovs['Open_vSwitch'].values()), '')

    def _replicas(self) -> dict[str, Any]:
        return {name: {'connected': database.connected,
                       'trouble': database.problem,
                       'rows': tried(functools.partial(_rows, database))}
                for name, database in self._databases.items()}


def _answer_of(context: contexts.Context, ask: Callable[[], Any]) -> Any:
    """oslo.privsep would start a daemon that does not run."""
    return tried(ask) if context.alive else {
        'error': f'there is no privileged daemon {context.name}'}


def _rows(database: connection.Database) -> dict[str, int]:
    with database.rows() as tables:
        return {name: len(rows) for name, rows in sorted(tables.items())}


def libraries() -> dict[str, Any]:
    """The versions of Python, the kernel, and the libraries of the agent."""
    found = {}
    for requirement in importlib.metadata.requires(version.PACKAGE) or ():
        name = _NAME.findall(requirement)[0]
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = ''
    return {'python': platform.python_version(),
            'kernel': ' '.join(os.uname()[::2]), 'libraries': found}


def threads() -> dict[str, list[str]]:
    """The stack of each thread, the most recent call first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    with tempfile.TemporaryFile('w+') as written:
        faulthandler.dump_traceback(written)
        written.seek(0)
        _before, *found = _THREAD.split(written.read())
    return {f'{names.get(int(ident, 16), "?")} ({int(ident, 16)})':
            [line.strip() for line in stack.strip().splitlines()]
            for ident, stack in zip(found[::2], found[1::2], strict=True)}


def tried(make: Callable[[], Any]) -> Any:
    """The result of a function, or ``error`` with the reason for none."""
    try:
        return make()
    except Exception as error:
        LOG.debug('A section of the report failed', exc_info=True)
        return {'error': f'{type(error).__name__}: {error}'}

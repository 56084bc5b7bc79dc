# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Questions to a database server, from a thread beside the loop."""

from collections.abc import Sequence
import threading
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent.backends import base
from ovn_network_agent.ovn.chassis import absent_chassis
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import query

# Seconds to wait for the answer.
TIMEOUT = 5.0

LOG = logging.getLogger(__name__)

_CHASSIS = query.select('Chassis',
                        columns=('_uuid', 'name', 'hostname'))
_REPORTS = (
    query.select('Chassis_Private',
                 columns=('name', 'nb_cfg', 'nb_cfg_timestamp')),
    query.select('SB_Global', columns=('nb_cfg',)),
    query.select('Port_Binding', ['type', '==', 'chassisredirect'],
                 columns=('chassis',)))


# Rows of an answer.
_Rows = Sequence[Any]


def ask(database: connection.Database,
        operations: Sequence[query.Operation],
        timeout: float = TIMEOUT) -> query.Answers:
    """Ask the server, and wait for its answer: rows for each operation.

    :raises BackendError: when there is no answer in time
    """
    answered = threading.Event()
    found = []

    def on_answer(answers: query.Answers | None,
                  _tables: object) -> None:
        found.append(answers)
        answered.set()

    try:
        with database.rows():
            database.ask(operations, on_answer)
    except connection.Unavailable as e:
        raise base.BackendError(str(e)) from e
    if not answered.wait(timeout) or found[0] is None:
        raise base.BackendError(
            f'{connection.SCHEMAS[database.name]} does not answer')
    return found[0]


def ask_chassis(context: base.Context, conf: Any,
                timeout: float = TIMEOUT) -> set[ownership.Owner]:
    """The server's chassis that are not silent.

    :raises base.BackendError: when there is no answer in time
    """
    silent = context.silent()
    chassis, *answers = ask(
        context.databases['sb'], [_CHASSIS, *(_REPORTS if silent else ())],
        timeout)
    present = {ownership.Owner(row['hostname'], row['name'])
               for row in chassis}
    if silent:
        facts = _facts(context.chassis(), chassis, *answers)
        present -= silent & absent_chassis.owners(
            facts, absent_chassis.outdated(
                facts, conf.gateway_drain.silent_chassis_limit))
    return present


def confirmed_gone(context: base.Context, conf: Any, names: frozenset[str]
                   ) -> frozenset[str]:
    """The chassis of some names that are gone, also for the server.

    A replica may lack rows. Without an answer nobody is gone.
    """
    if not names:
        return frozenset()
    try:
        present = ask_chassis(context, conf)
    except base.BackendError as e:
        LOG.warning('Rows in NB of chassis that may be gone are kept: %s', e)
        return frozenset()
    return names - {each.chassis for each in present}


def _facts(own: str, chassis: _Rows, reports: _Rows, globals_: _Rows,
           ports: _Rows) -> absent_chassis.Facts:
    """The facts of the answers."""
    bound = {row['chassis'][1] for row in ports
             if row['chassis'][0] == 'uuid'}
    return absent_chassis.Facts(
        own, max((row['nb_cfg'] for row in globals_), default=0),
        {row['name']: row['hostname'] for row in chassis},
        {row['name']: (row['nb_cfg'], row['nb_cfg_timestamp'])
         for row in reports},
        frozenset(row['name'] for row in chassis if row['_uuid'][1] in bound))

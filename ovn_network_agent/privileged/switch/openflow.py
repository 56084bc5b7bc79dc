# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for the flows of the provider bridge.

The connection lives as long as the daemon, so a change takes a fraction of a
millisecond; ``[ovs] ovs_wrapper`` uses ``ovs-ofctl`` behind it instead.
"""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Sequence
import errno
import os
import threading
import typing

from ovn_network_agent import privileged
from ovn_network_agent.common import unix_sockets
from ovn_network_agent.conf import registered
from ovn_network_agent.conf.options import ovs as options
from ovn_network_agent.openflow import bridge as openflow
from ovn_network_agent.openflow import connection
from ovn_network_agent.openflow import spec as specs
from ovn_network_agent.openflow import wire
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.privileged.switch import ofctl

_T = typing.TypeVar('_T')
#: end of the name of a bridge's management socket
SUFFIX = '.mgmt'
# A deletion also accepts flows that may exist but are never written.
_LISTS: tuple[tuple[str, str, Callable[
    [typing.Any], specs.FlowSpec | specs.StraySpec]], ...] = (
    ('adds', specs.ADD, specs.check_flow),
    ('deletes', specs.DELETE,
     lambda item: specs.check_flow(item, deleting=True)),
    ('strays', specs.DELETE_STRAY, specs.check_stray))

_lock = threading.Lock()
# by path, also what to call after the end; only under the lock
_connections: dict[str, connection.Switch] = {}
_ended: dict[str, list[Callable[[], None]]] = {}


@privileged.ovs.entrypoint
def dump_flows(bridge: str, previous: str = '', known: Sequence[bytes] = ()
               ) -> list[typing.Any]:
    """Read the flows with a cookie of the agent, unless they are known.

    :param previous: digest of an earlier answer, '' for none
    :param known: digests of portions of earlier answers
    :returns: [None, or of each portion [digest, flows]; digest of this answer,
        '' with ``[ovs] ovs_wrapper``]; flows are None in a known portion, else
        fields of :class:`spec.FlowSpec` or :class:`spec.StraySpec`
    """
    for mark in checks.sequence(known, 'known'):
        if not isinstance(mark, bytes):
            raise checks.invalid(f'{mark!r} is no digest')
    found, digest = _run(
        bridge, lambda switch: openflow.dump_again(switch, previous,
                                                   frozenset(known)),
        lambda command: ([(b'', ofctl.dump(command))], ''))
    return [None if found is None else [
        [mark, None if flows is None else [list(spec) for spec in flows]]
        for mark, flows in found], digest]


@privileged.ovs.entrypoint
def read_socket(bridge: str) -> dict[str, list[int]]:
    """[inode, time of change in ns] of a bridge's socket, if it is there."""
    mark = unix_sockets.of_socket(socket_path(bridge))
    return {bridge: mark} if mark else {}


@privileged.ovs.change
def change_flows(bridge: str, adds: checks.Items, deletes: checks.Items,
                 strays: checks.Items) -> list[list[typing.Any]]:
    """Add flows, then delete flows; other flows are not touched.

    :param adds: each :class:`spec.FlowSpec` fields, as in ``deletes``
    :param strays: each the fields of :class:`spec.StraySpec`
    :returns: [list name, index, reason] of each that failed
    """
    failures: dict[Hashable, str] = {}
    places = []
    steps = []
    for (name, verb, check), items in zip(_LISTS, (adds, deletes, strays)):
        for index, item in enumerate(checks.sequence(items, name)):
            places.append((name, index))
            try:
                steps.append(specs.Step((name, index), verb, check(item)))
            except ValueError as error:
                failures[name, index] = str(error)
    if steps:
        failures.update(_run(bridge, openflow.change, ofctl.change, steps))
    return [[*place, failures[place]] for place in places
            if place in failures]


def _run(bridge: str, over_openflow: Callable[..., _T],
         over_ofctl: Callable[..., _T], *args: typing.Any) -> _T:
    path = socket_path(bridge)
    wrapper = registered.group(options).ovs_wrapper
    if wrapper:
        return over_ofctl(ofctl.Command(wrapper.split(), bridge), *args)
    try:
        return with_switch(path, over_openflow, *args)
    except wire.Malformed as error:
        raise OSError(errno.EPROTO, f'{path}: {error}') from error


def socket_path(bridge: str) -> str:
    """Path of the management socket of a bridge of the configuration."""
    try:
        specs.check_bridge(bridge)
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from error
    limits.current().check_bridge(bridge)
    return os.path.join(registered.group(options).ovs_rundir, bridge + SUFFIX)


def with_switch(path: str, function: Callable[..., _T], *args: typing.Any
                ) -> _T:
    """Call a function with the open connection, or with a new one; again after
    its end (a restart of ovs-vswitchd), since all calls may be repeated.
    """
    with _lock:
        if path in _connections:
            try:
                return _try(path, function, *args)
            except TimeoutError:
                raise
            except OSError:
                pass
        _connections[path] = connection.Switch(path)
        return _try(path, function, *args)


def _try(path: str, function: Callable[..., _T], *args: typing.Any) -> _T:
    try:
        return function(_connections[path], *args)
    except (OSError, wire.Malformed):
        _drop(path)
        raise


def at_end(path: str, function: Callable[[], None]) -> None:
    """Have a function called at the end of the connection, within a call."""
    _ended.setdefault(path, []).append(function)


def pump(path: str, switch: connection.Switch) -> bool:
    """Take what a switch has sent by itself; False after the end."""
    with _lock:
        if _connections.get(path) is not switch:
            return False
        try:
            switch.pump()
        except (OSError, wire.Malformed):
            _drop(path)
            return False
        return True


def with_open(path: str, switch: connection.Switch,
              function: Callable[[connection.Switch], object]) -> bool:
    """Call a function with one connection; False if that has ended before."""
    with _lock:
        if _connections.get(path) is not switch:
            return False
        _try(path, function)
        return True


def drop(path: str, switch: connection.Switch) -> None:
    """Close a connection, unless another one has taken its place."""
    with _lock:
        if _connections.get(path) is switch:
            _drop(path)


def _drop(path: str) -> None:
    dropped = _connections.pop(path, None)
    if dropped is not None:
        dropped.close()
    for function in _ended.pop(path, ()):
        function()


def close() -> None:
    """Close all connections."""
    with _lock:
        for path in list(_connections):
            _drop(path)

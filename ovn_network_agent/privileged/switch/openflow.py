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
import typing

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.common import socket_identity
from ovn_network_agent.conf.options import ovs as options
from ovn_network_agent.openflow import bridge as openflow
from ovn_network_agent.openflow import spec as specs
from ovn_network_agent.openflow import wire
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.privileged.switch import ofctl
from ovn_network_agent.privileged.switch import switches

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


@privileged.ovs.entrypoint
def dump_flows(bridge: str, former: str = '', known: Sequence[bytes] = ()
               ) -> list[typing.Any]:
    """Read the flows with a cookie of the agent, unless they are known.

    :param former: digest of an earlier answer, '' for none
    :param known: digests of portions of earlier answers
    :returns: [None, or of each portion [digest, flows]; digest of this answer,
        '' with ``[ovs] ovs_wrapper``]; flows are None in a known portion, else
        fields of :class:`spec.FlowSpec` or :class:`spec.StraySpec`
    """
    for mark in checks.sequence(known, 'known'):
        if not isinstance(mark, bytes):
            raise checks.invalid(f'{mark!r} is no digest')
    found, digest = _run(
        bridge, lambda switch: openflow.dump_again(switch, former,
                                                   frozenset(known)),
        lambda command: ([(b'', ofctl.dump(command))], ''))
    return [None if found is None else [
        [mark, None if flows is None else [list(spec) for spec in flows]]
        for mark, flows in found], digest]


@privileged.ovs.entrypoint
def read_socket(bridge: str) -> dict[str, list[int]]:
    """[inode, time of change in ns] of a bridge's socket, if it is there."""
    mark = socket_identity.of_socket(socket_path(bridge))
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
    wrapper = _conf().ovs_wrapper
    if wrapper:
        return over_ofctl(ofctl.Command(wrapper.split(), bridge), *args)
    try:
        return switches.call(path, over_openflow, *args)
    except wire.Malformed as error:
        raise OSError(errno.EPROTO, f'{path}: {error}') from error


def socket_path(bridge: str) -> str:
    """Path of the management socket of a bridge of the configuration."""
    try:
        specs.check_bridge(bridge)
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from error
    limits.current().check_bridge(bridge)
    return os.path.join(_conf().ovs_rundir, bridge + SUFFIX)


def close() -> None:
    """Close all connections."""
    switches.close()


def register_options() -> None:
    """Register [ovs] in this process, which may be a daemon."""
    cfg.CONF.register_opts(options.OPTS, group=options.GROUP)


def _conf() -> typing.Any:
    """Of the privileged side, never of the caller."""
    # a registration compares all options, which takes 24 us
    if options.GROUP not in cfg.CONF:
        register_options()
    return cfg.CONF.ovs

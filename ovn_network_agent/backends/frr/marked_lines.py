# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends evpn_instance and router_advertisement: marked lines of FRR.

An instance is the agent's while it has one of two odd timers, see
:mod:`frr.evpn`. A line that is missing, or changes what is announced, makes it
:class:`Incomplete`. What is left without an instance is a :class:`Rest` (the
line ``vni`` after a restart of bgpd alone): it has no mark, and counts only
for a VNI that is wanted or was there.

FRR 10 shows an :class:`Empty` section of the VRF as long as there is the
device, whose removal that of the section waits for.

An interface of FRR is the agent's while it has an interval or a lifetime of
the agent (:mod:`frr.advertisement`). Else its lines are the operator's, stay,
and a wanted advertisement fails. Beside the agent's lines, the operator may
have others, such as ``ipv6 nd managed-config-flag``. FRR has the lines also
while the device does not exist.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import errno
import re
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.common import normal_wait
from ovn_network_agent.common import notices
from ovn_network_agent.model import evpn_names
from ovn_network_agent.privileged.routing import evpn_instances
from ovn_network_agent.privileged.routing import router_advertisements

LOG = logging.getLogger(__name__)
# "line 12: " in messages of "vtysh -f".
_PLACE = re.compile(r'^\s*line \d+: ')
_NUMBER = re.compile(r'\d+')


@dataclasses.dataclass(frozen=True, slots=True)
class Incomplete(resources.EvpnInstance):
    """A VNI that lacks a line; never equal to a wanted one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rest(Incomplete):
    """A VNI without BGP instance."""


@dataclasses.dataclass(frozen=True, slots=True)
class Empty(Rest):
    """An empty section of the VRF, which FRR 10 keeps as long as its device.

    So the device must not wait for it.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, 'requires', ())


class EvpnInstanceBackend(base.Backend):
    """VNIs of FRR with a mark of the agent."""

    name = 'evpn_instance'
    system = 'FRR'
    kinds = (resources.EvpnInstance,)
    # frr-reload.py removes all lines of the agent at once.
    doubted_by = (notices.FRR_RESTARTED, notices.FRR_VNIS,
                  notices.PREFIX_LISTS, notices.ZEBRA_STATIC)
    revived_by = (notices.FRR_RESTARTED,)
    # A change of route targets takes longer than a second by itself, see
    # frr.evpn_steps.
    patience = 1.0

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        # What the log has said of the operator's own instance.
        self._lacks: Sequence[str] = ()

    def read(self, known: base.Known) -> list[resources.EvpnInstance]:
        """Read the VNIs of the agent.

        :param known: without any of this kind, a node need not have FRR
        :raises base.BackendError: when FRR does not answer
        """
        kind, = self.kinds
        ours = {ref for ref in known if ref.kind == kind.kind}
        try:
            with calls.explained('VNIs of FRR'):
                underlay, found = evpn_instances.read()
        except base.BackendError as error:
            if ours or not _absent(error):
                raise
            return []
        there = [self._resource(underlay, *fields) for fields in found]
        return [r for r in there if not isinstance(r, Rest) or r.ref in ours]

    def _resource(self, underlay: int, vni: int, asn: int, router_id: str,
                  rd: str, imports: Iterable[str], exports: Iterable[str],
                  complete: bool | None) -> resources.EvpnInstance:
        """The resource of some fields; 0 for the AS number that is wanted."""
        kind, = self.kinds
        if not complete:
            kind = (Incomplete if asn else Empty if complete is None
                    else Rest)
        if asn == underlay and not self.conf.evpn.bgp_as:
            asn = 0
        return kind(vni, asn, router_id, rd, tuple(imports), tuple(exports))

    def apply(self, delta: base.Delta) -> base.Failures:
        """Write and remove lines; a new reading decides what has failed.

        :returns: the lines of somebody else, or what FRR said
        :raises base.BackendError: when FRR does not answer
        """
        adds, deletes = (resources.of_kind(resources.EvpnInstance, some)
                         for some in (delta.wanted, delta.delete))
        with calls.explained('VNIs of FRR'):
            refused, output = evpn_instances.change(
                [[r.vni, r.asn, r.router_id, r.rd, list(r.imports),
                  list(r.exports)] for r in adds],
                [[r.vni] for r in deletes])
            if adds:
                self._tell_lacks()
        failures = calls.of_lists(refused, adds=adds, deletes=deletes)
        there = {r.ref: r for r in self.read(frozenset(
            r.ref for r in (*adds, *deletes)))}
        vnis = {r.vni for r in (*adds, *deletes)}
        for resource in calls.missed(there, adds, deletes):
            about = _about(resource.vni, vnis, output)
            waits = resource not in adds and isinstance(
                there[resource.ref], Empty)
            failures.setdefault(
                resource.ref, _waits(resource.vni, about) if waits else
                f'FRR rejected it: {about or "no message"}')
        return failures

    def _tell_lacks(self) -> None:
        lacks = evpn_instances.read_lacks()
        for text in lacks:
            if text not in self._lacks:
                LOG.warning('%s', text)
        self._lacks = lacks


def _absent(error: base.BackendError) -> bool:
    """Whether FRR does not run, or is not installed; vtysh fails then."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in (
        errno.ECONNREFUSED, errno.ENOENT, errno.EIO)


def _about(vni: int, vnis: set[int], output: str) -> str:
    """What FRR said that is not about other VNIs of the same call.

    The same text for each VNI and attempt, while the cause is the same.
    """
    rows = dict.fromkeys(_PLACE.sub('', row).strip()
                         for row in output.splitlines())
    return ' '.join(row for row in rows if row and not (
        {int(each) for each in _NUMBER.findall(row)} & vnis - {vni}))


def _waits(vni: int, output: str) -> str:
    return normal_wait.Reason(
        f'"vrf {evpn_names.vrf(vni)}" of FRR is removed after its device' +
        (f': {output}' if output else ''))


@dataclasses.dataclass(frozen=True, slots=True)
class IncompleteAdvertisement(resources.RouterAdvertisement):
    """Advertisements that lack a line; never equal to wanted ones."""


class RouterAdvertisementBackend(base.Backend):
    """Router advertisements with a mark of the agent."""

    name = 'router_advertisement'
    system = 'FRR'
    kinds = (resources.RouterAdvertisement,)
    # frr-reload.py removes all lines of the agent at once.
    doubted_by = (notices.FRR_RESTARTED, notices.PREFIX_LISTS,
                  notices.ZEBRA_STATIC)
    revived_by = (notices.FRR_RESTARTED,)

    def read(self, known: base.Known) -> list[resources.RouterAdvertisement]:
        """Read the advertisements of the agent.

        :param known: without any of this kind, a node need not have FRR
        :raises base.BackendError: when FRR does not answer
        """
        kind, = self.kinds
        try:
            with calls.explained('router advertisements of FRR'):
                found = router_advertisements.read()
        except base.BackendError as error:
            if any(ref.kind == kind.kind for ref in known) or not _absent(
                    error):
                raise
            return []
        return [(kind if complete else IncompleteAdvertisement)(
            dev, tuple(prefixes), *flags)
                for dev, complete, prefixes, flags in found]

    def apply(self, delta: base.Delta) -> base.Failures:
        """Write and remove lines; a new reading decides what has failed.

        :raises base.BackendError: when FRR does not answer
        """
        adds, deletes = (resources.of_kind(resources.RouterAdvertisement, some)
                         for some in (delta.wanted, delta.delete))
        with calls.explained('router advertisements of FRR'):
            refused, output = router_advertisements.change(
                [[r.dev, list(r.prefixes), [r.managed, r.other]]
                 for r in adds], [[r.dev] for r in deletes])
        failures = calls.of_lists(refused, adds=adds, deletes=deletes)
        there = {r.ref: r for r in self.read(frozenset(
            r.ref for r in (*adds, *deletes)))}
        reason = 'FRR rejected it: ' + (
            ' '.join(output.split()) or 'no message')
        for resource in calls.missed(there, adds, deletes):
            failures.setdefault(resource.ref, reason)
        return failures

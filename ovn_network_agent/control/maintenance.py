# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Drain and undrain by an operator: the checks, and the written wish.

A command writes only the wish into the local database; the loop follows the
wish.  Before this, the command checks whether another chassis can take over.
"""

from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import plugins
from ovn_network_agent.control import commands
from ovn_network_agent.control import peers
from ovn_network_agent.control import readiness
from ovn_network_agent.control import text
from ovn_network_agent.drivers import announcing
from ovn_network_agent.ovs import wishes
from ovn_network_agent.ovsdb import writing

LOG = logging.getLogger(__name__)


class Maintenance:
    """Carries out the commands drain and undrain of an operator.

    :param conf: the oslo.config ConfigOpts
    :param databases: dict of name to :class:`ovsdb.connection.Database`
    :param snapshot: function without arguments that returns the last
        :class:`model.Snapshot`, or None
    :param names: function without arguments that returns a
        :class:`ovn.directory.Directory`
    """

    def __init__(self, conf, databases, snapshot, names):
        self._conf = conf
        self._databases = databases
        self._snapshot = snapshot
        self._names = names

    def drain(self, routers=(), force=False):
        """Write the wish that gateway ports leave this node.

        :param routers: names of routers for
            :meth:`directory.Router.is_called`; empty for all routers
        :param force: whether to write the wish even if no other candidate is
            ready to take over
        :returns: dict, as documented for "drain --json"
        :raises commands.Refused: when the wish is not written
        """
        self._may_write()
        snapshot, names = self._snapshot(), self._names()
        machines = self._machines(snapshot) if not routers else 0
        if not plugins.asked(self._conf, plugins.RANKING):
            raise commands.Refused(
                'without the driver gateway_drain a drain has no effect; ' + (
                    text.of_machines(machines) if machines else 'add the '
                    'driver to [DEFAULT] drivers and restart the agent'))
        wanted = frozenset(self._find(names, name, snapshot).uuid
                           for name in routers) or frozenset({model.ALL})
        doubts = list(self._doubts(snapshot, names, wanted))
        if doubts and not force:
            raise commands.Refused(
                f'not drained: {"; ".join(doubts)}; to drain all the same, '
                'repeat the command with --force')

        def add(before):
            return before if model.ALL in before else (
                wanted if model.ALL in wanted else before | wanted)
        before, after = self._write(add)
        LOG.info('Drain of %s was asked for%s', ', '.join(sorted(wanted)),
                 ' (forced)' if force else '')
        groups = _groups(snapshot, wanted)
        return {
            'command': 'drain', 'wanted': sorted(wanted),
            'changed': before != after, 'drains': sorted(after),
            'names': _called(names, wanted | after),
            'stays': [{'group': group.name, 'reason': reason,
                       'routers': list(map(names.describe, group.routers))}
                      for group in groups if (reason := readiness.stays(
                          group, snapshot.node.chassis, names.hostname))],
            'machines': machines, 'peerings': _peerings(snapshot),
            'forced': doubts}

    def undrain(self, routers=()):
        """Remove the wish.

        :param routers: as for :meth:`drain`; empty to remove all wishes
        :returns: dict, as documented for "undrain --json"
        :raises commands.Refused: when the wish is not removed
        """
        self._may_write()
        names = self._names()
        # A router of the present wish is found by its UUID alone, because
        # the router may be gone.
        wished = self._snapshot().node.drains if self._snapshot() else ()
        wanted = frozenset(
            name if name in wished else self._find(names, name).uuid
            for name in routers)

        def remove(before):
            if wanted and model.ALL in before:
                raise commands.Refused(
                    'the whole node is drained, and no single router can be '
                    'taken out of that; use "undrain" without --router, then '
                    '"drain --router" for those that are to stay away')
            return before - wanted if wanted else frozenset()
        before, after = self._write(remove)
        LOG.info('Undrain of %s was asked for',
                 ', '.join(sorted(wanted)) or model.ALL)
        return {
            'command': 'undrain',
            'wanted': sorted(wanted) or [model.ALL],
            'changed': before != after, 'drains': sorted(after),
            'names': _called(names, wanted | after)}

    def _may_write(self):
        if mode.forwards_only(self._conf):
            raise commands.Refused(
                'this agent only forwards ports: there are no gateways here '
                'that could be drained; to withdraw its VIPs, stop the agent')
        if self._conf.dry_run:
            raise commands.Refused('this is a dry run, which writes nothing')

    def _machines(self, snapshot):
        """The number of announced addresses of machines on this node."""
        return sum(1 for _each in announcing.of_machines(
            self._conf, snapshot)) if snapshot else 0

    def _write(self, how):
        try:
            return wishes.change(self._databases['ovs'], how,
                                 self._conf.ovn.transaction_timeout)
        except writing.NotWritten as e:
            raise commands.Refused(
                f'external_ids:{ownership.EXT_ID_DRAIN} of the local '
                f'Open_vSwitch row: {e}') from e

    # -- whom it is about -------------------------------------------------

    def _find(self, names, given, snapshot=None):
        """The :class:`ovn.directory.Router` that a name means.

        :param names: :class:`ovn.directory.Directory`
        :param given: UUID or name of a router
        :param snapshot: None, or the :class:`model.Snapshot` in which the
            router has to have a gateway port
        :raises commands.Refused: when not exactly one router is meant
        """
        found = [router for router in names.routers.values()
                 if router.is_called(given)]
        if not found:
            trouble = self._databases['nb'].trouble
            because = f'; {trouble}' if trouble else ''
            raise commands.Refused(
                f'there is no router "{given}"; looked for it as the UUID or '
                'the name of a Logical_Router, and as the UUID or the name of '
                f'a router in Neutron{because}')
        if len(found) > 1:
            uuids = ', '.join(sorted(router.uuid for router in found))
            raise commands.Refused(
                f'"{given}" is the name of {len(found)} routers; give the '
                f'UUID of one router: {uuids}')
        if snapshot is not None and not _groups(
                snapshot, {found[0].uuid}):
            raise commands.Refused(
                f'{names.describe(found[0].uuid)} has no gateway port that '
                'this chassis is a candidate for; there is nothing to drain')
        return found[0]

    # -- what speaks against it -------------------------------------------

    def _doubts(self, snapshot, names, wanted):
        """Reasons against a drain, texts."""
        if snapshot is None:
            yield ('OVN has not been seen yet, so it is unknown which '
                   'candidates could take over')
            return
        for name in ('nb', 'sb'):
            if not self._databases[name].connected:
                yield (f'{self._databases[name].trouble}, so it is unknown '
                       'which candidates could take over')
        chassis = snapshot.node.chassis
        for group in _groups(snapshot, wanted):
            if readiness.wish(group, snapshot.node.drains):
                # The former wish already covers this group.
                continue
            reason = readiness.stays(group, chassis, names.hostname)
            alone = len(group.candidates) == 1
            if reason and not (alone and model.ALL in wanted):
                routers = ', '.join(map(names.describe, group.routers))
                yield f'{routers}: {reason} ({group.name})'


def _called(names, uuids):
    """The names of the routers of wishes, as far as they are known.

    :returns: dict of UUID to name
    """
    return {uuid: router.label or router.name for uuid in sorted(uuids)
            if (router := names.routers.get(uuid))}


def _peerings(snapshot):
    """The number of peerings with rows in OVN."""
    return len({each.pair for each in peers.of_view(
        snapshot, model.Peering)} - {''})


def _groups(snapshot, wanted):
    """The groups that a wish covers, a list."""
    return [group for group in (snapshot.groups if snapshot else ())
            if readiness.wish(group, wanted)]

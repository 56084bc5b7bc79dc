# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Backend nftables: our table, and the elements of its sets.

One table for each family.  It is loaded as a whole, with the elements that
are to be in it, and is recognised by what it says about itself, see
:mod:`nft.listing`.  Elements of a table that stays are changed one by one,
in one transaction for all of them.

What the former table translated connections to and the new one does not is
kept in it as "leaving", until those connections are deleted.  Only then the
table counts as loaded: whatever goes wrong in between, it is done again.
"""

import collections
import dataclasses
import shutil

from oslo_log import log as logging

from ovn_network_agent import notices
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import kernel
from ovn_network_agent.forward import flaws
from ovn_network_agent.forward import rules
from ovn_network_agent.netlink import links
from ovn_network_agent.nft import codec
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import listing
from ovn_network_agent.nft import names
from ovn_network_agent.nft import rendering
from ovn_network_agent.privileged import context
from ovn_network_agent.privileged import nft
from ovn_network_agent.watches import nftables

LOG = logging.getLogger(__name__)

_NOTHING = listing.Listed(listing.ALTERED, '')
# Changes that fail before the others are not tried any more.
_TRIES = 3


class NftablesBackend(kernel.KernelBackend):
    """One nftables table for each family, and its elements."""

    name = 'nftables'
    kinds = (resources.NftTable, resources.NftElement)
    doubted_by = (notices.NFTABLES,)

    def __init__(self, conf):
        super().__init__(conf)
        self._watch = None
        self._wake = None
        # Whether there was nothing when there had been nothing to do, yet.
        self._idle = False

    def check(self):
        """Acceptance rows PRE-07 and PRE-08."""
        try:
            if not rules.load(self.conf):
                return []
        except flaws.BadRules:
            # Who checks the configuration says so.
            return []
        return [*self._check_program(), *self._check_device()]

    def _check_program(self):
        if shutil.which('nft') is None:
            yield (f'[port_forward] rules_file = '
                   f'{self.conf.port_forward.rules_file}: the program nft is '
                   f'not in PATH; install the package nftables')

    def _check_device(self):
        device = self.conf.port_forward.port_forward_dev
        try:
            found = links.read_all()
        except OSError:
            # The backend link says so.
            return
        if device not in found:
            vrf = self.conf.frr.vrf_name
            enslave = f'ip link set {device} master {vrf}; ' if vrf else ''
            yield (f'[port_forward] port_forward_dev = {device}: there is no '
                   f'such device; create it (ip link add {device} type '
                   f'dummy; {enslave}ip link set {device} up) or name the '
                   f'right one')

    def attach(self, context):
        self._wake = context.wake

    def read(self, known):
        if known:
            self._start_watch()
        elif self._idle or shutil.which('nft') is None:
            # Nothing is wanted, and nothing of ours can be there: who
            # forwards no ports is spared the processes.
            return []
        try:
            found = {family: _parsed(printed) for family, printed in
                     _reading(nft.read_tables,
                              list(elements.FAMILIES)).items()}
        except base.BackendError as error:
            if known:
                raise
            LOG.debug('Whether a table of a former run is left cannot be '
                      'told: %s', error)
            return []
        self._idle = not known and not found
        return [resource for family, listed in found.items()
                for resource in _resources(family, listed)]

    def apply(self, delta):
        failures = {}
        for family in elements.FAMILIES:
            work = _work(delta, family)
            if work is not None:
                failures.update(self._apply(family, work))
        return failures

    def close(self):
        if self._watch is not None:
            self._watch.stop()

    # -- one family -------------------------------------------------------

    def _apply(self, family, work):
        """Bring one family to what is wanted.

        :returns: dict of Ref to reason
        """
        if work.unwanted:
            return self._remove(family, work, self._table(family))
        if work.table is not None:
            return self._replace(family, work,
                                 self._table(family) or _NOTHING)
        return self._change(family, work)

    def _remove(self, family, work, listed):
        """Take the table away, and all in it.

        :param listed: :class:`listing.Listed`, None when it is not there
        """
        if listed is not None:
            try:
                self._changed(nft.delete_table, family)
                self._forget(family, listed.targets | listed.leaving)
            except base.BackendError as error:
                return {work.unwanted.ref: str(error)}
        return {}

    def _replace(self, family, work, before):
        """Load the table with all that is to be in it."""
        table = work.table
        failures, adds = _possible(family, work.adds,
                                   rendering.sets(table.content))
        wanted = {(r.set, r.element) for r in adds}
        deletes = {(r.set, r.element) for r in work.deletes}
        kept = before.elements - deletes
        try:
            self._load(family, table, kept | wanted, before)
        except base.BackendError as error:
            if wanted <= kept:
                return {**failures, table.ref: str(error)}
            # What was there before cannot be what nft did not like.
            failures.update(self._replace(
                family, _Work(table=table, deletes=work.deletes), before))
            if table.ref in failures:
                failures.update({r.ref: str(error) for r in adds})
            else:
                failures.update(self._one_by_one(
                    family, [_Work(adds=[r]) for r in adds]))
        return failures

    def _load(self, family, table, contents, before):
        leaving = (before.targets | before.leaving) - set(table.targets)
        declared = rendering.sets(table.content)
        sets = _by_set(entry for entry in contents if entry[0] in declared)
        told = [list(t) for t in sorted(leaving)]
        if (before.digest == listing.ALTERED or
                not self._exchange(family, table, sets, told, before)):
            self._changed(nft.replace_table, codec.pack(table.content), sets,
                          told)
        self._forget(family, leaving)
        listed = self._table(family) or _NOTHING
        self._changed(nft.stamp_table, family,
                      table.digest, listed.listing)

    def _exchange(self, family, table, sets, leaving, before):
        """Exchange the rules of a table that is as we know it.

        In two steps, see :func:`nft.transaction.extension`: a load of the
        whole table in the place of the other is one step for what begins
        after it, but a packet that is under way can miss both.  When a new
        connection does, all its packets will.

        :returns: whether that was possible; it is not when a chain or set
            of the same name is something else now
        """
        of_rules = ownership.NFT_NETWORKS
        present = _by_set(
            {entry for entry in before.elements if entry[0] != of_rules} |
            {(of_rules, prefix) for prefix in before.networks})
        try:
            self._changed(nft.extend_table, codec.pack(table.content), sets,
                          present, leaving)
            self._changed(
                nft.prune_table, family, [list(r) for r in before.rules],
                sorted(before.chains - rendering.chains(
                    rendering.text(table.content))),
                sorted(before.sets - rendering.sets(table.content)))
        except base.BackendError as error:
            LOG.info('The table is loaded in place of the former one: %s',
                     error)
            return False
        return True

    def _change(self, family, work):
        """Change elements; when nft refuses, one by one."""
        listed = self._sets(family, {r.set for r in (*work.adds,
                                                     *work.deletes)})
        failures, adds = _possible(family, work.adds, listed.sets)
        try:
            self._change_at_once(family, adds, work.deletes, listed)
        except base.BackendError as error:
            steps = [_Work(adds=[r]) for r in adds] + [
                _Work(deletes=[r]) for r in work.deletes]
            if len(steps) == 1:
                return {**failures,
                        (adds or work.deletes)[0].ref: str(error)}
            failures.update(self._one_by_one(family, steps))
        return failures

    def _one_by_one(self, family, steps):
        """Find out which of several changes nft refuses.

        Not for ever: after some that failed nft itself is the reason.
        """
        failures = {}
        for step in steps:
            if len(failures) < _TRIES:
                failures.update(self._change(family, step))
            else:
                failures.update({r.ref: 'not tried, because others failed'
                                 for r in (*step.adds, *step.deletes)})
        return failures

    def _change_at_once(self, family, adds, deletes, listed):
        after = listed.elements | {(r.set, r.element) for r in adds}
        after -= {(r.set, r.element) for r in deletes}
        gone = _by_set(listed.elements - after)
        new = _by_set(after - listed.elements)
        of_rules = ownership.NFT_NETWORKS
        prefixes = gone.pop(of_rules, []), new.pop(of_rules, [])
        if any(prefixes):
            gone[ownership.NFT_PREFIXES], new[ownership.NFT_PREFIXES] = (
                prefixes)
            outer = set(elements.outer(
                element for name, element in after if name == of_rules))
            gone[of_rules] = sorted(listed.networks - outer)
            new[of_rules] = sorted(outer - listed.networks)
        if gone or new:
            self._changed(nft.change_elements, family, gone, new)

    # -- the root side ----------------------------------------------------

    def _table(self, family):
        """Our table of one family.

        :returns: :class:`listing.Listed`, None when it is not there
        :raises base.BackendError: when it cannot be read
        """
        found = _reading(nft.read_tables, [family])
        return _parsed(found[family]) if found else None

    def _sets(self, family, wanted):
        """Some sets of our table, and nothing else of it.

        :param wanted: names of sets, a set of str
        :returns: :class:`listing.Listed` with those that are there
        """
        if ownership.NFT_NETWORKS in wanted:
            wanted = {*wanted, ownership.NFT_PREFIXES}
        return _parsed(*_reading(
            nft.read_sets, family, [name for name in sorted(wanted)
                                    if names.is_name(name)]).values())

    def _changed(self, function, *args):
        """Call an entry point that changes the table."""
        try:
            if self._watch is None:
                function(*args)
            else:
                with self._watch.own_change() as ours:
                    ours(function(*args))
        except context.FAILURES as error:
            raise base.BackendError(str(error)) from error

    def _forget(self, family, targets):
        """Delete the connections that were translated to these."""
        if not targets:
            return
        try:
            count = nft.delete_connections(
                family, self.conf.port_forward.port_forward_ct_zone,
                [list(target) for target in sorted(targets)])
        except context.FAILURES as error:
            raise base.BackendError(
                f'connections to backends that were removed stay in '
                f'connection tracking: {error}') from error
        LOG.info('%d connections to %d removed backends were deleted',
                 count, len(targets))

    def _start_watch(self):
        """Be told of changes from here on, if there is somebody to tell."""
        if self._watch is not None or self._wake is None:
            return
        watching = nftables.TableWatch(lambda: self._wake(
            'nftables', stale=(notices.NFTABLES,)))
        try:
            watching.start()
        except context.ReadOnly:
            # A dry run reads once.
            return
        except context.FAILURES as error:
            # The next reading tries again.
            LOG.warning('Changes of nftables by others are only noticed at '
                        'the reconcile_interval: %s', error)
            return
        self._watch = watching


@dataclasses.dataclass(frozen=True, slots=True)
class _Work:
    """The part of a delta that is about one family.

    :ivar table: NftTable to load, or None
    :ivar unwanted: NftTable to take away, or None
    :ivar adds: list of NftElement
    :ivar deletes: likewise
    """

    table: resources.NftTable | None = None
    unwanted: resources.NftTable | None = None
    adds: tuple = ()
    deletes: tuple = ()


def _work(delta, family):
    """The part of a delta that is about one family, or None."""
    wanted = [r for r in kernel.wanted(delta) if r.family == family]
    unwanted = [r for r in delta.delete if r.family == family]
    if not wanted and not unwanted:
        return None
    return _Work(_table(wanted), _table(unwanted), _elements(wanted),
                 _elements(unwanted))


def _table(found):
    return next((r for r in found if isinstance(r, resources.NftTable)),
                None)


def _elements(found):
    return [r for r in found if isinstance(r, resources.NftElement)]


def _reading(function, *args):
    """Call an entry point that lists."""
    try:
        return function(*args)
    except context.FAILURES as error:
        raise base.BackendError(
            f'the table {ownership.NFT_TABLE} cannot be read: {error}'
        ) from error


def _parsed(*printed):
    try:
        return listing.parse(*printed)
    except listing.Unreadable as error:
        raise base.BackendError(str(error)) from error


def _resources(family, listed):
    yield resources.NftTable(family, listed.digest,
                             targets=tuple(sorted(listed.targets)))
    for name, element in listed.elements:
        yield resources.NftElement(family, name, element)


def _possible(family, adds, sets):
    """Elements that a table can have.

    :param sets: names of its sets
    :returns: (dict of Ref to reason, list of the others)
    """
    failures = {}
    for resource in adds:
        try:
            elements.written(family, resource.set, resource.element)
            if resource.set not in sets:
                raise ValueError(f'there is no set {resource.set} for it')
        except (TypeError, ValueError) as error:
            failures[resource.ref] = str(error)
    return failures, [r for r in adds if r.ref not in failures]


def _by_set(entries):
    """{set: sorted list of elements} of (set, element)."""
    sets = collections.defaultdict(list)
    for name, element in sorted(entries):
        sets[name].append(element)
    return dict(sets)

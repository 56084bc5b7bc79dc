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

"""The answers of the drivers: asked for changed input only, and merged.

Pure.  A driver may be foreign code.  When a driver raises, its former
contribution stays, and the other contributions are not affected.

A contribution about a router may have parts: that of the router itself, and
one of each NAT row.  After a change of a NAT row, the driver is asked only
about this row and about the router itself.
"""

import dataclasses
import itertools
import operator

from oslo_log import log as logging

from ovn_network_agent import identity
from ovn_network_agent import model
from ovn_network_agent import port_forwards
from ovn_network_agent import resources
from ovn_network_agent.engine import desired

LOG = logging.getLogger(__name__)

# The most contributions that a line of the debug log names.
_NAMED = 10

# What a driver says whose answer does not depend on the NAT rows of a router.
_NO_NATS = (None,)

# What is no part of the view, and is asked about once in a comparison.
_ONCE = ('node', 'forwards')

# Kinds that are statements of a driver and have no backend.
_STATEMENTS = (resources.Keep.kind, resources.Problem.kind)


@dataclasses.dataclass(slots=True)
class _Divided:
    """A contribution about a router, in parts.

    :ivar given: the input that all parts have in common: (settings, router
        without NAT rows and default routes, node); None when all parts are to
        be asked for
    :ivar bare: the router without NAT rows
    :ivar common: tuple of the further arguments about NAT rows, at most one:
        what the driver has answered in :attr:`drivers.base.Driver.common`
    :ivar nats: :class:`identity.Parts`, the NAT rows of the last answers
    :ivar answers: dict of the name of each NAT row to the list of what the
        driver wants for it
    :ivar remarks: dict of the name of a NAT row to the remark about it, see
        :meth:`drivers.base.Driver.remark`; without rows of no difference
    """

    given: tuple | None = None
    bare: model.Router | None = None
    common: tuple = ()
    nats: identity.Parts = None
    answers: dict = dataclasses.field(default_factory=dict)
    remarks: dict = dataclasses.field(default_factory=dict)


class Contributions:
    """Asks the drivers and keeps the merged desired state current.

    :param drivers: list of :class:`drivers.base.Driver`
    :param tracker: :class:`tracking.Tracker` that takes the desired state
    :param kinds: set of the kinds that have a backend
    :ivar drivers: list, which the caller may replace by drivers of the same
        names; only drivers with changed settings are asked again
    :ivar broken: dict of contributor to text: drivers that raised
    :ivar proved: whether the update after :meth:`forget` is the last one that
        had any input to look at
    """

    def __init__(self, drivers, tracker, kinds):
        self.drivers = drivers
        self._kinds = kinds
        self._state = desired.DesiredState(tracker)
        self._memo = {}
        self._divided = {}
        self._problems = {}
        self._known_problems = frozenset()
        # The common input of all answers, and the parts of the last view.
        self._common = None
        self._routers = identity.Parts(operator.attrgetter('uuid'))
        self._groups = identity.Parts(
            operator.attrgetter('table', 'key'))
        self.broken = {}
        self.proved = self._anew = False
        # The piece of the present update; whether the common input is the
        # same since the first piece.
        self._piece, self._same = None, False

    @property
    def conflicts(self):
        """Refs that drivers do not agree about, dict of Ref to text."""
        return self._state.conflicts

    @property
    def left_out(self):
        """tuple of :class:`resources.Problem`, sorted, each text once."""
        by_text = {problem.text: problem for problems
                   in self._problems.values() for problem in problems}
        return tuple(by_text[text] for text in sorted(by_text))

    def forget(self):
        """Ask every driver again at the next update."""
        self._memo.clear()
        for divided in self._divided.values():
            divided.given = None
        self._common = None
        self._anew = True

    def update(self, snapshot, piece=None, proves=False):
        """Ask the drivers about each input that changed since the last time.

        :param snapshot: :class:`model.Snapshot`
        :param piece: see :class:`passes.Pass`; likewise proves
        """
        self._piece = piece
        proved, self.proved = self.proved, False
        node, forwards = snapshot.node, snapshot.forwards
        if forwards is not None:
            node = dataclasses.replace(
                node, extent=port_forwards.extent(forwards))
        common = node, forwards, [driver.settings for driver in self.drivers]
        whole = common != self._common
        if whole and self._common is not None:
            LOG.debug('Everything is asked about: %s',
                      _changed_parts(self._common, common))
        # An exception must not lose what has come.
        self._common = None
        if whole:
            # Each input is then compared by its value.
            self._routers.forget()
            self._groups.forget()
        routers, gone = self._routers.take(snapshot.routers)
        groups, gone_groups = self._groups.take(snapshot.groups)
        routers += self._broken_ones(snapshot.routers, _name_of_router)
        groups += self._broken_ones(snapshot.groups, _name_of_group)
        computed = [
            contributor for driver in self.drivers
            for contributor in self._ask_about(driver, node, forwards, groups,
                                               routers)]
        if whole or (piece is not None and piece.last):
            self._drop_all_but(snapshot)
        else:
            self._drop({*map(_name_of_router, gone),
                        *map(_name_of_group, gone_groups)})
        self._common = common
        self.proved = not self.broken and (self._anew or (
            proved and not (whole or routers or groups or gone or
                            gone_groups)))
        self._anew = False
        self._note_piece(piece, whole, proves)
        self._report_problems()
        LOG.debug('Computed %d of %d contributions: %s', len(computed),
                  len(self.drivers) * (1 + (forwards is not None) + len(
                      self._routers) + len(self._groups)),
                  ', '.join('/'.join(c) for c in computed[:_NAMED]))

    def _note_piece(self, piece, whole, proves):
        """Note after the last piece whether all answers are proved.

        :param whole: whether each input was compared by its value only
        """
        if piece is not None and piece.first:
            self._same = True
        elif whole:
            self._same = False
        if piece is not None and piece.last:
            self.proved = proves and self._same and not self.broken

    def _broken_ones(self, parts, name):
        """The parts about which a driver has raised; it is asked again."""
        names = {about for _driver, about in self.broken}
        return [part for part in parts if name(part) in names] if names else []

    def _ask_about(self, driver, node, forwards, groups, routers):
        """Ask a driver about everything that may have changed.

        :returns: iterator of the contributors that were asked
        """
        phase = node.phase
        questions = [('node', driver.for_node)]
        if forwards is not None:
            questions.append(('forwards', driver.for_forwards, forwards))
        questions += [(_name_of_group(group), driver.for_group, group)
                      for group in groups]
        if driver.for_nats is None:
            questions += [(router.uuid, driver.for_router, router)
                          for router in routers]
        for about, method, *part in questions:
            if self._ask((driver.name, about), method, phase,
                         (driver.settings, *part, node)):
                yield driver.name, about
        if driver.for_nats is not None:
            for router in routers:
                if self._ask_in_parts(driver, router, node):
                    yield driver.name, router.uuid

    # -- one contribution -------------------------------------------------

    def _again(self, contributor):
        """Whether a comparison asks again, also about an equal input."""
        return self._piece is not None and (
            self._piece.first or contributor[1] not in _ONCE)

    def _ask(self, contributor, method, phase, known):
        """Make a driver contribute, unless its input is the same.

        :param known: the input: the settings of the driver, and the arguments
            of the method
        :returns: whether the driver was asked
        """
        if not self._again(contributor) and (
                self._memo.get(contributor) == known):
            self.broken.pop(contributor, None)
            return False
        _settings, *arguments = known
        try:
            wanted = self._understood(method(*arguments))
        except Exception as e:
            self._failed(contributor, e, phase)
            return True
        self.broken.pop(contributor, None)
        self._take(contributor, wanted, phase)
        self._memo[contributor] = known
        return True

    def _ask_in_parts(self, driver, router, node):
        """Likewise about a router and its NAT rows."""
        contributor = driver.name, router.uuid
        known = driver.settings, router, node
        if self._piece is None and self._memo.get(contributor) == known:
            self.broken.pop(contributor, None)
            return False
        bare = dataclasses.replace(router, nats=())
        # The agent writes default routes itself, which must not make it ask
        # about thousands of NAT rows.
        fixed = dataclasses.replace(bare, default_routes=())
        given = driver.settings, fixed, node
        divided = self._divided.setdefault(contributor, _Divided())
        anew = divided.given != given
        again = self._piece is not None
        changed = divided.bare != bare
        other = anew or again or changed
        if not other and divided.common == _NO_NATS:
            self._memo[contributor] = known
            return False
        # An exception must not lose what has come.
        divided.given = None
        try:
            common = (_common(driver, bare, node) if other else
                      divided.common)
            if anew or common != divided.common:
                anew = True
                self._begin_parts(divided, common)
            come, gone = self._changed_nats(divided, router)
            # What differs in an equal value makes a difference to remarks
            # alone, so those of all rows are asked for.
            remarked = (router.nats if changed and common != _NO_NATS
                        else come)
            divided.common = common
            # A part without resources may be left out of the answer.
            parts = {_name_of_nat(nat): [] for nat in come}
            if come:
                for nat, found in driver.for_nats(fixed, come, node,
                                                  *divided.common):
                    parts[_name_of_nat(nat)] += self._understood(found)
            parts = {name: _as_before(found, divided.answers.get(name))
                     for name, found in parts.items()}
            rest = None
            if self._remarked(driver, divided, remarked, gone) or other:
                answers = {**divided.answers, **parts}
                names = map(_name_of_nat, router.nats)
                # Without a function of this module: drivers call nothing
                # above.
                rest = self._understood(driver.for_rest(
                    router, node, itertools.chain.from_iterable(
                        filter(None, map(answers.get, names)))))
        except Exception as e:
            self._failed(contributor, e, node.phase)
            return True
        self.broken.pop(contributor, None)
        unwanted = (divided.answers.keys() - parts.keys() if anew else
                    set(map(_name_of_nat, gone)))
        if again:
            unwanted |= divided.answers.keys() - set(
                map(_name_of_nat, router.nats))
        divided.answers.update(parts)
        if rest is not None:
            self._take(contributor, rest, node.phase)
        self._take_parts(contributor, divided.answers, parts, unwanted,
                         node.phase)
        divided.given, divided.bare = given, bare
        self._memo[contributor] = known
        return True

    @staticmethod
    def _begin_parts(divided, common):
        """Forget the parts, as each of them is to be asked for."""
        divided.nats = identity.Parts(_name_of_nat)
        divided.remarks = {}
        divided.common = common

    @staticmethod
    def _changed_nats(divided, router):
        """The NAT rows that have come and gone, two lists."""
        if divided.common == _NO_NATS:
            return [], []
        return divided.nats.take(router.nats)

    @staticmethod
    def _remarked(driver, divided, come, gone):
        """Take the remarks about NAT rows; whether there are other ones."""
        if not divided.common:
            return True
        changed = False
        for name in map(_name_of_nat, gone):
            changed |= divided.remarks.pop(name, None) is not None
        for nat in come:
            name, remark = _name_of_nat(nat), driver.remark(
                nat, *divided.common)
            changed |= divided.remarks.get(name) != remark
            if remark is None:
                divided.remarks.pop(name, None)
            else:
                divided.remarks[name] = remark
        return changed

    def _take_parts(self, contributor, answers, parts, unwanted, phase):
        """Take the answers about new NAT rows, and drop those of others."""
        for name, wanted in parts.items():
            self._take((*contributor, name), wanted, phase)
        for name in unwanted:
            self._take((*contributor, name), (), phase)
            del answers[name]

    def _failed(self, contributor, error, phase):
        """Note that a driver has raised; its last contribution stays.

        So a bug in a driver does not withdraw what works, but for the end of
        the agent.
        """
        why = f'{type(error).__name__}: {error}'
        if self.broken.get(contributor) != why:
            # Once, though each pass asks the driver again.
            LOG.exception('Driver %s failed on %s', *contributor)
        self.broken[contributor] = why
        if phase is model.Phase.STOPPED:
            del self.broken[contributor]
            for each in self._with_parts(contributor):
                self._take(each, self._state.contributed(each), phase)

    def _with_parts(self, contributor):
        """A contributor and those of its parts, a list."""
        divided = self._divided.get(contributor)
        return [contributor, *((*contributor, name) for name in
                               (divided.answers if divided else ()))]

    def _drop_all_but(self, snapshot):
        present = {'node', *map(_name_of_router, snapshot.routers),
                   *map(_name_of_group, snapshot.groups)}
        if snapshot.forwards is not None:
            present.add('forwards')
        self._drop({contributor[1] for known in (
            self._state.contributors(), self._memo, self.broken)
            for contributor in known} - present)

    def _drop(self, abouts):
        """Drop all contributions about parts of the view that are gone.

        :param abouts: iterable of their names
        """
        for contributor in ((driver.name, about) for about in abouts
                            for driver in self.drivers):
            for each in self._with_parts(contributor):
                self._state.contribute(each, ())
                self._problems.pop(each, None)
            for known in (self._memo, self._divided, self.broken):
                known.pop(contributor, None)

    def _take(self, contributor, wanted, phase):
        if phase is model.Phase.STOPPED:
            # At the end of the agent nothing is desired.  Objects of others
            # still stay.  An object that was kept in doubt goes, because no
            # agent is left that could resolve the doubt.
            wanted = [r for r in wanted if r.kind == resources.Keep.kind
                      and r.theirs]
        problems = tuple(
            r for r in wanted if r.kind == resources.Problem.kind)
        if problems:
            self._problems[contributor] = problems
        else:
            self._problems.pop(contributor, None)
        self._state.contribute(contributor, [
            r for r in wanted if r.kind != resources.Problem.kind])

    def _understood(self, wanted):
        """The resources that a driver yields, checked, as a list.

        :raises ValueError: when an item is no resource, or no backend could
            make the resource
        """
        wanted = list(wanted)
        for resource in wanted:
            if not isinstance(resource, resources.Resource):
                raise ValueError(f'{resource!r} is not a resource')
            hash(resource.ref)
            if (resource.kind not in self._kinds and
                    resource.kind not in _STATEMENTS):
                raise ValueError(
                    f'no backend makes resources of the kind {resource.kind}; '
                    'install the package that has this backend')
        return wanted

    def _report_problems(self):
        """Log each problem once, and once that the problem is gone."""
        problems = frozenset(problem.text for problem in self.left_out)
        for text in sorted(problems - self._known_problems):
            LOG.warning('Left out: %s', text)
        for text in sorted(self._known_problems - problems):
            LOG.info('No longer left out: %s', text)
        self._known_problems = problems


def _as_before(found, former):
    """The former resources of a part if the new ones are the same.

    After a full comparison, thousands of equal resources would otherwise be
    there twice: in the answers and in the tracker.

    :param found: list of :class:`resources.Resource`
    :param former: likewise, or None
    """
    if (former is not None and len(found) == len(former) and
            all(map(desired.same, found, former))):
        return former
    return found


def _changed_parts(before, now):
    """The names of what is another one in the common input, a text."""
    (node, *_rest), (other, *_others) = before, now
    fields = [f'node.{field.name}' for field in dataclasses.fields(node)
              if getattr(node, field.name) != getattr(other, field.name)]
    return ', '.join(fields + [name for name, old, new in zip(
        ('forwards', 'settings'), before[1:], now[1:], strict=True)
        if old != new]) + ' changed'


def _common(driver, bare, node):
    """What the answers about the NAT rows of a router have in common.

    :returns: see :attr:`_Divided.common`
    """
    return () if driver.common is None else (driver.common(bare, node),)


def _name_of_router(router):
    return router.uuid


def _name_of_group(group):
    return f'{group.table} {group.key}'


# All that there is of a row, in a tuple, because logical_ip may be any text.
_name_of_nat = operator.attrgetter('external_ip', 'type', 'logical_ip',
                                   'distributed_mac', 'resident',
                                   'gateway_port')

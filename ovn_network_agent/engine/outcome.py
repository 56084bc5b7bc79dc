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

"""The result of a pass, and the text of a resource in one line."""

import dataclasses

from ovn_network_agent import notyet


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """Addresses that the withdrawal guard holds, see :mod:`engine.guard`.

    :ivar subjects: frozenset of the addresses that stay announced
    :ivar announced: number of all announced addresses
    :ivar reasons: tuple of str, the middle of a sentence each
    :ivar unconfirmed: frozenset of the addresses whose loss the servers have
        yet to confirm
    :ivar usual: whether the hold is only the usual wait for the servers
    """

    subjects: frozenset = frozenset()
    announced: int = 0
    reasons: tuple = ()
    unconfirmed: frozenset = frozenset()
    usual: bool = False

    @property
    def why(self):
        """The reasons in one clause."""
        return ' and '.join(self.reasons)

    @property
    def text(self):
        """The hold, its reasons and the remedy; '' without a hold."""
        if not self.subjects:
            return ''
        kind = notyet.Reason if self.usual else str
        return kind(
            f'the withdrawal guard holds {len(self.subjects):d} of '
            f'{self.announced:d} announced addresses, because '
            f'{self.why}; if they are to be withdrawn: '
            'ovn-network-agent-ctl resync --force')


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one pass.

    :ivar changes: number of objects created, updated or deleted
    :ivar failures: dict of Ref to text: resources that are not as desired
    :ivar unreadable: dict of backend name to text: backends that could not
        be read or reached
    :ivar broken: dict of contributor to text: drivers that raised
    :ivar pending: names of backends that still work beside the loop, and
        'announcing' while resources that follow the announcements wait
    :ivar left_out: tuple of :class:`resources.Problem` of the drivers
    :ivar applied: tuple of (verb, resource): the changes that were made; a
        verb is 'created', 'updated' or 'deleted'
    :ivar seconds: tuple of (part of the pass, seconds), in order
    :ivar readings: tuple of (name of a backend, seconds): the readings whose
        result has come
    :ivar lost: tuple of Ref: objects that others removed or changed, as found
        in this pass
    :ivar streaks: dict of backend name to the number of its readings in a
        row that found such objects, at least 1
    :ivar held: :class:`Held`
    :ivar touched: tuple of Ref: the keys whose desired or actual resource may
        be another one than after the pass before
    :ivar announces: whether a system still takes announcements beside the
        loop, which have not failed and are not in place
    """

    changes: int = 0
    failures: dict = dataclasses.field(default_factory=dict)
    unreadable: dict = dataclasses.field(default_factory=dict)
    broken: dict = dataclasses.field(default_factory=dict)
    pending: tuple = ()
    left_out: tuple = ()
    applied: tuple = ()
    seconds: tuple = ()
    readings: tuple = ()
    lost: tuple = ()
    streaks: dict = dataclasses.field(default_factory=dict)
    held: Held = Held()
    touched: tuple = ()
    announces: bool = False

    @property
    def problems(self):
        """Texts of the drivers' problems, a tuple."""
        return tuple(problem.text for problem in self.left_out)

    @property
    def degraded(self):
        """Reasons why the system is not as desired, a list of str."""
        # A normal wait remains one.
        reasons = [notyet.like(why, f'{backend}: {why}')
                   for backend, why in self.unreadable.items()]
        reasons += [f'driver {driver} on {" ".join(filter(None, about))}: '
                    f'{why}' for (driver, *about), why in self.broken.items()]
        reasons += [notyet.like(why, f'{ref.kind} {brief(ref.key)}: {why}')
                    for ref, why in self.failures.items()]
        reasons += [self.held.text] if self.held.subjects else []
        return reasons + list(self.problems)

    @property
    def settled(self):
        """True when everything is as desired and nothing is under way."""
        return not (self.failures or self.unreadable or self.broken or
                    self.pending)


def describe(resource):
    """A resource's values as one line for the log and the plan."""
    return ' '.join(
        f'{field.name}={brief(getattr(resource, field.name))}'
        for field in dataclasses.fields(resource)
        if field.compare and getattr(resource, field.name) is not None
    ).replace(f'cookie={getattr(resource, "cookie", 0):d} ',
              f'cookie={getattr(resource, "cookie", 0):#x} ')


def brief(value):
    """A value, or a tuple of values, as a short text."""
    if isinstance(value, tuple):
        return ','.join(brief(v) for v in value if v is not None)
    return str(value)

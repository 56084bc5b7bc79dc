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

"""What all resources have, and the statements beside them."""

import dataclasses
import enum


class Stage(enum.IntEnum):
    """Order of creation; deletion runs in the reverse order."""

    LINK = 10
    SYSCTL = 20
    ADDRESS = 30
    NEIGHBOUR = 40
    ROUTE = 50
    RULE = 60
    # Before anything attracts what it translates.
    TRANSLATION = 65
    FLOW = 70
    NORTHBOUND = 80
    FILTER = 90
    ANNOUNCE = 100
    # What makes a state last comes after what makes it reachable.
    LEAD = 110


@dataclasses.dataclass(frozen=True, slots=True)
class Ref:
    """A reference to a resource: its kind and key."""

    kind: str
    key: tuple


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """Base of all resources.

    :cvar kind: name of the kind, as it appears in logs and plans
    :cvar stage: :class:`Stage` of the kind
    :cvar retained: True when the object stays in the system after it is no
        longer desired (a sysctl: its earlier value is not known)
    :ivar requires: refs that have to be in place before this is created;
        not part of the value
    """

    requires: tuple = dataclasses.field(
        default=(), compare=False, repr=False, kw_only=True)

    kind = 'resource'
    stage = Stage.LINK
    retained = False

    @property
    def key(self):
        """The target system's key, a tuple."""
        raise NotImplementedError(f'the class {type(self).__name__} has no '
                                  'property key')

    @property
    def ref(self):
        """:class:`Ref` of this resource."""
        return Ref(self.kind, self.key)

    @property
    def follows(self):
        """Whether no packet from outside needs it.

        When a gateway has moved here it comes after what is announced.
        """
        return self.stage > Stage.ANNOUNCE

    @property
    def subject(self):
        """The address this is about ('198.51.100.10/32'), or None.

        Resources with the same subject depend on each other in the order of
        their stages: an announcement is held back when the route of its
        address failed, and the route stays while the announcement of its
        address could not be withdrawn.
        """
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class Problem(Resource):
    """Not an object but a statement: something is left out, and why.

    A driver yields it instead of leaving out silently.  It appears in the
    log once, in the plan, and in the state of the agent as long as it lasts.

    :ivar text: for the operator: what is left out, why, and the remedy
    :ivar router: UUID of the router that it is about, '' for none
    :ivar addresses: tuple of str, the addresses that are left out; empty
        where it is not about single ones
    """

    text: str
    router: str = ''
    addresses: tuple = ()

    kind = 'problem'

    @property
    def key(self):
        return (self.text,)


@dataclasses.dataclass(frozen=True, slots=True)
class Keep(Resource):
    """Not an object but a statement: whatever is at ``of`` stays as found.

    A driver yields it where it cannot or must not decide: rows that another
    chassis is about to take over, a segment that cannot be resolved.

    :ivar of: :class:`Ref` of the resource that is neither created, changed
        nor deleted
    :ivar theirs: whether the object is somebody else's, or about to be.
        Then it stays when the agent stops, too; what only a doubt has kept
        goes with everything of ours
    """

    of: Ref
    theirs: bool = False

    kind = 'keep'

    @property
    def key(self):
        return (self.of,)

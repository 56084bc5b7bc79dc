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

"""The conditions of removals: what has to stay while something needs it.

The engine holds back the removal of a resource that an announcement still
needs.  Otherwise the node would attract traffic and drop it.
"""

from collections.abc import Callable

from ovn_network_agent import resources
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import replacement
from ovn_network_agent.engine import tracking


class Removals:
    """Decides which resources may go."""

    def __init__(self, backends: actual.Backends, tracker: tracking.Tracker,
                 entries: ledger.Ledger, wake: Callable[[str], object],
                 patience: float) -> None:
        self._backends = backends
        self._tracker = tracker
        self._ledger = entries
        self._successors = replacement.Successors(backends, tracker, wake,
                                                  patience)

    def permitted(self, deletes: list[resources.Resource]
                  ) -> list[resources.Resource]:
        """The resources that may go now; the ledger gets why others stay.

        :param deletes: resources of one backend and stage that are to go
        """
        self._successors.find(deletes)
        return [r for r in deletes if self._may_go(r)]

    def _may_go(self, resource: resources.Resource) -> bool:
        """Whether a resource may be removed; notes in the ledger why not.

        A resource stays while an announcement that needs it is in place.  No
        announcement stays because of a resource that leaves early.
        """
        if (self._ledger.still_kept(resource.ref) or
                self._ledger.beside(resource, ledger.WORKING) or
                # The backend of announcements is being read at first.
                any(map(self._backends.first_look,
                        self._needing(resource)))):
            return False
        held, holder = self._successors.keep(resource)
        failed = [ref for ref in self._ledger.beside(resource, ledger.FAILING)
                  if not self._leaves_early(ref)]
        if not held and (failed or self.announcement_unknown(resource)):
            held = (f'stays while what announces {resource.subject} could not '
                    'be withdrawn')
            holder = failed[0] if failed else None
        if held:
            self._ledger.waits(resource.ref, held, holder)
        return not held and not self._ledger.still_refused(resource.ref)

    def _leaves_early(self, ref: resources.Ref) -> bool:
        resource = self._tracker.existing(ref) or self._tracker.desired(ref)
        return resource is not None and resource.leaves_early

    def announcement_unknown(self, resource: resources.Resource) -> bool:
        """Whether an announcement that needs a resource may be unseen.

        The state of announcements is unknown while their backend cannot be
        read.  A former run, or a change that took too long, may have left an
        announcement.
        """
        return any(self._backends.unread(name) or
                   name in self._backends.unreadable
                   for name in self._needing(resource))

    def _needing(self, resource: resources.Resource) -> list[str]:
        """Names of the backends whose announcements may need a resource."""
        if (resource.subject is None or
                resource.stage is resources.Stage.ANNOUNCE):
            return []
        return [backend.name for backend, _kinds in self._backends.announcers]

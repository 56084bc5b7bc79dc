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

"""The replacement of a resource by another one.

When the announce method changes, a resource of another kind announces each
address.  The old announcement stays until FRR knows the new announcement, so
that BGP withdraws nothing in between.

A resource with a ``place`` stays until the resource that is wanted at the same
place is there: the lines of a former prefix list go after the lines of the new
one are written.
"""

from collections.abc import Callable
import concurrent.futures

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import tracking

LOG = logging.getLogger(__name__)


class Successors:
    """Finds the successors of announcements that are to go.

    :param wake: function(reason), called for an answer that came after the
        loop had stopped to wait
    :param patience: seconds to wait for an answer
    """

    def __init__(self, backends: actual.Backends, tracker: tracking.Tracker,
                 wake: Callable[[str], object], patience: float) -> None:
        self._patience = patience
        self._backends = backends
        self._tracker = tracker
        self._wake = wake
        # By subject and by place.
        self._waited_for: dict[str | None, resources.Ref] = {}
        self._places: dict[object, resources.Ref] = {}
        # Questions without an answer yet, by name of backend.
        self._asked: dict[
            str, concurrent.futures.Future[set[resources.Ref]]] = {}

    def find(self, deletes: list[resources.Resource]) -> None:
        """Find the resources whose successor is not in effect yet.

        The search costs nothing while only one announce method is in use and
        nothing that has a place goes.

        :param deletes: resources of one backend and stage that are to go
        """
        self._waited_for, self._places = {}, {}
        placed = {r.kind for r in deletes if r.place is not None}
        if placed:
            # What is wanted at a place and not there yet.
            self._places = {
                r.place: r.ref for r in self._tracker.wanted(placed)
                if r.place is not None and not self._tracker.in_sync(r.ref)}
        going = {r.subject: r.kind for r in deletes
                 if r.stage is resources.Stage.ANNOUNCE}
        if not going:
            return
        for backend, kinds in self._backends.announcers:
            others = [kind for kind in kinds if kind not in going.values()]
            coming = [r for r in self._tracker.wanted(others)
                      if r.subject in going]
            if coming:
                effective = self._in_effect(backend, coming)
                self._waited_for.update(
                    (r.subject, r.ref) for r in coming
                    if r.ref not in effective)

    def _in_effect(self, backend: base.Backend,
                   coming: list[resources.Resource]) -> set[resources.Ref]:
        there = [r for r in coming if self._tracker.in_sync(r.ref)]
        if not there:
            return set()
        # FRR may hang or be slow.  A slow FRR is not asked again at each
        # pass: the answer to the former question still counts.
        earlier = self._asked.pop(backend.name, None)
        answer = earlier or executor.begin(lambda: backend.in_effect(there))
        concurrent.futures.wait([answer], self._patience)
        if answer.done():
            try:
                return answer.result()
            except Exception as e:
                LOG.warning('%s', actual.expected(backend.name, e))
                return set()
        LOG.warning('%s: no answer yet to what is announced', backend.name)
        self._asked[backend.name] = answer
        if earlier is None:
            answer.add_done_callback(
                lambda _answer: self._wake(f'{backend.name} answered'))
        return set()

    def keep(self, resource: resources.Resource
             ) -> tuple[str, resources.Ref | None]:
        """The reason and the successor for which a resource stays.

        :returns: ('', None) when the resource may go
        """
        if resource.place in self._places:
            ref = self._places[resource.place]
            return (f'stays until {ref.kind} {outcome.brief(ref.key)} is '
                    'there, which takes its place'), ref
        successor = self._waited_for.get(resource.subject)
        if (successor is None or
                resource.stage is not resources.Stage.ANNOUNCE):
            return '', None
        return (f'stays until FRR knows {successor.kind} '
                f'{outcome.brief(successor.key)}, which takes its place'
                ), successor

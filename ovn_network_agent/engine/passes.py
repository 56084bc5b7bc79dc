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

"""The description of the pass that the loop asks for."""

import dataclasses
import typing

from ovn_network_agent import model
from ovn_network_agent import resources


def _no_limits():
    """None: the pass withdraws without a guard."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pass:
    """One pass that the loop asks for.

    :ivar snapshot: :class:`model.Snapshot`
    :ivar stale: words of :mod:`ovn_network_agent.notices`, or names of
        backends, that say what is to be read again
    :ivar full: ask every driver and read every backend again
    :ivar prune: delete what is no longer desired; False while the snapshot
        may be incomplete: then only VIPs without a living destination are
        withdrawn
    :ivar down_to: :class:`resources.Stage` where deletion ends; resources of
        earlier stages stay for another pass
    :ivar urgent: a gateway port has moved here: announce first
    :ivar retry: try failed backends again before their back-off is over
    :ivar at_once: do not wait between announcements and what follows them
    :ivar ahead: :class:`model.Snapshot` with the first routers of ``snapshot``
        alone, whose addresses an urgent pass announces before the drivers are
        asked about the others; or None
    :ivar limits: function that returns the :class:`guard.Limits` of the
        withdrawal guard, or None to withdraw without a guard; called only for
        a pass that withdraws
    :ivar remembers: in a full pass, ask a driver only about changed inputs
    :ivar periodic: whether a full pass has no other reason than the time that
        has passed: then drivers are asked only about changed subjects, and a
        backend may find its system unchanged
    :ivar reads: names of the backends to be read because time has passed
    :ivar has_read: names of the backends that need no reading in a periodic
        pass, because an earlier part of the same comparison had it
    """

    snapshot: model.Snapshot
    stale: tuple = ()
    full: bool = False
    prune: bool = True
    down_to: resources.Stage = resources.Stage.LINK
    urgent: bool = False
    retry: bool = False
    at_once: bool = False
    remembers: bool = False
    periodic: bool = False
    reads: tuple = ()
    has_read: tuple = ()
    ahead: model.Snapshot | None = None
    limits: typing.Callable = _no_limits

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

"""The same view, built afresh."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.tests.functional.ovn import cloud

HERE = cloud.CHASSIS


def fresh(eyes):
    """The same view built by somebody who has never seen anything."""
    with (eyes.databases['nb'].rows() as nb,
          eyes.databases['sb'].rows() as sb):
        builder = snapshot.Builder(eyes.view._conf.gateway_port,
                                   inputs.choice(eyes.view._conf))
        return builder.complete(builder.build(
            nb, sb, eyes.view._local.wiring, {}, model.Phase.RUNNING))


def timeless(seen):
    """A view without what it knows beside the rows: the facts of groups."""
    return dataclasses.replace(seen, groups=tuple(
        dataclasses.replace(group, facts=frozenset())
        for group in seen.groups))

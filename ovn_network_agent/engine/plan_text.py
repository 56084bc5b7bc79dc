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

"""The plan of a dry run as text: one line a change, in order of the work."""

import collections

from ovn_network_agent import resources
from ovn_network_agent.engine import outcome as outcomes

SIGNS = {'create': '+', 'update': '~', 'delete': '-', 'unknown': '?'}


def render(steps: list[tuple[str, resources.Resource]],
           outcome: outcomes.Outcome) -> list[str]:
    """Lines of the plan, as of :meth:`reconciler.Reconciler.plan`."""
    lines = [f'{SIGNS[verb]} {resource.kind} {outcomes.describe(resource)}'
             for verb, resource in steps]
    lines += [f'! {reason}' for reason in outcome.degraded]
    counts = collections.Counter(verb for verb, _resource in steps)
    unknown = (f', {counts["unknown"]:d} that could not be looked at'
               if counts['unknown'] else '')
    lines.append(f'Plan: {counts["create"]:d} to create, {counts["update"]:d} '
                 f'to update, {counts["delete"]:d} to delete{unknown}; '
                 'nothing was changed.')
    return lines

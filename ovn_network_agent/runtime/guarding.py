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
"""The limits of the withdrawal guard, from the options and the view."""

from ovn_network_agent import model
from ovn_network_agent.engine import guard


def limits(conf, state, phase):
    """The limits of one pass.

    :param conf: the oslo.config ConfigOpts
    :param state: :class:`ovn.view.View` that has made the view of the pass
    :param phase: :class:`model.Phase` of the pass
    :returns: :class:`guard.Limits`; None without OVN, and while the agent
        stops, because a stop withdraws on purpose
    """
    cross_check = state.cross_check
    if cross_check is None or phase is not model.Phase.RUNNING:
        return None
    return guard.Limits(conf.withdrawal_guard_percent,
                        conf.withdrawal_guard_minimum, cross_check)

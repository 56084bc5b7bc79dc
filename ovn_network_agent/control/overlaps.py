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

"""Whether drains of this node have an overlap (decision record 0011)."""

from ovn_network_agent.conf import mode
from ovn_network_agent.conf import plugins
from ovn_network_agent.privileged import context
from ovn_network_agent.privileged import overlap


def standing(conf):
    """The overlap of drains on this node, for ``status``.

    The function asks ovn-controller, which takes some seconds at the most.

    :param conf: the oslo.config ConfigOpts
    :returns: text: 'on', 'off', or the reason why there is none; '' where
        the agent drains nothing
    """
    if (not plugins.asked(conf, plugins.RANKING) or
            mode.forwards_only(conf)):
        return ''
    if not conf.gateway_drain.overlap:
        return 'off'
    try:
        return overlap.standing() or 'on'
    except context.FAILURES as error:
        return f'not known: {error}'

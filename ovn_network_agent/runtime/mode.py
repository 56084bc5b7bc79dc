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

"""Which parts of the agent there are: all, or those that forward ports.

Without OVN (both remotes empty) nothing of it, of Open vSwitch or of FRR is
needed or touched: what would is not loaded, and its privileged daemons are
not started.
"""

from ovn_network_agent import privileged
from ovn_network_agent.conf import mode as options

FULL = 'full'


def name(conf):
    """The name of the mode, as the status and the log have it."""
    return options.FORWARDS_ONLY if options.forwards_only(conf) else FULL


def uses(conf, part, known):
    """Whether a part of the agent has a use in this mode.

    :param conf: an oslo.config ConfigOpts without problems
    :param part: a :class:`drivers.base.Driver` or
        :class:`backends.base.Backend`, the class
    :param known: what the part may know: its :class:`conf.settings.Settings`
        for a driver, and the ConfigOpts for a backend
    """
    return not options.forwards_only(conf) or part.runs_without_ovn(known)


def contexts(conf):
    """The privileged daemons that are needed.

    :returns: list of :class:`privileged.context.Context`
    """
    return [context for context in privileged.CONTEXTS
            if context.without_ovn or not options.forwards_only(conf)]

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

"""The question to the Southbound server which chassis are there."""

from ovn_network_agent.backends import asking
from ovn_network_agent.ovn import questions
from ovn_network_agent.ovn import silence


def ask(context, conf, patience=asking.PATIENCE):
    """The server's chassis that are not silent.

    :param context: :class:`base.Context`
    :param conf: the oslo.config ConfigOpts
    :param patience: seconds to wait for the answer
    :returns: set of :class:`ownership.Owner`
    :raises base.BackendError: when there is no answer
    """
    silent = context.silent()
    question = questions.Reports() if silent else questions.AllChassis()
    answers = asking.ask(context.databases['sb'], question, patience)
    present = question.owners(answers)
    if silent:
        facts = question.facts(answers, context.chassis())
        present -= silent & silence.owners(facts, silence.outdated(
            facts, conf.gateway_drain.silent_chassis_limit))
    return present

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

"""The missing steps of a drain or an undrain.  Pure."""

from ovn_network_agent import model


def missing(done, state):
    """The steps that a command still waits for.

    :param done: the answer to the command, see :mod:`maintenance`
    :param state: the answer to a later "status", see :mod:`report`
    :returns: list of str, empty when the command is carried out
    """
    if state['phase'] == model.Phase.RESTORING.value:
        return ['the agent has not seen OVN yet']
    away = [f'database {name}: {database["trouble"]}'
            for name, database in sorted(state['databases'].items())
            if not database['connected']]
    if not _seen(done, set(state['drains'])):
        return away or ['the agent has not taken note of it yet']
    return away + [f'{group["name"]}: {", ".join(group["pending"])}'
                   for group in state['groups']
                   if group['pending'] and _concerned(done, group)]


def _seen(done, drains):
    """Whether the agent knows the wish that the command has written."""
    wanted = set(done['wanted'])
    if done['command'] == 'drain':
        return model.ALL in drains or wanted <= drains
    return not drains if model.ALL in wanted else wanted.isdisjoint(drains)


def _concerned(done, group):
    wanted = set(done['wanted'])
    drain = done['command'] == 'drain'
    # After an undrain, another router of the group may still be drained.
    return bool(group['wish']) is drain and (
        model.ALL in wanted or not wanted.isdisjoint(group['routers']))

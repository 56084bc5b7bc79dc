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

"""Which machines of a selection leave with its egress address.  Pure."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent.drivers import source
from ovn_network_agent.ovn import egress_file
from ovn_network_agent.ovn import egress_routers as routers
from ovn_network_agent.ovn import egress_selection as selection

_MODE = model.EgressMode


def judged(find: source.Find, name: str) -> tuple[model.EgressMachine, ...]:
    """The machines of an object; why says which ones do not count."""
    found = find.ask(_alone, name)
    if any(entry.mode is not _MODE.HOST
           for entry in find(*egress_file.TABLE, 'name', name)):
        return found
    crowded = find.ask(_crowded)
    return tuple(machine if machine.why else dataclasses.replace(
        machine, why=crowded.get((machine.router, machine.address), ''))
        for machine in found)


def _alone(find: source.Find, name: str) -> tuple[model.EgressMachine, ...]:
    """The machines, without a look at nodes."""
    return tuple(_judged(find, entry, machine)
                 for entry in find(*egress_file.TABLE, 'name', name)
                 for machine in find.ask(selection.selected, name).machines)


def _crowded(find: source.Find) -> dict[tuple[str, str], str]:
    """By router and address, why a node takes a machine for another one."""
    first: dict[tuple[str, str], tuple[str, routers.Router]] = {}
    found = {}
    for entry in sorted(find(*egress_file.TABLE, 'all', True),
                        key=lambda each: each.uuid):
        for machine in (find.ask(_alone, entry.uuid)
                        if entry.mode is _MODE.HOST else ()):
            router = find.ask(routers.read, machine.router)
            chassis = [] if machine.why or router is None else [
                *filter(None, (find.ask(routers.chassis, each.name)
                               for each in router.gateways))]
            if router is None or not chassis:
                continue
            name, other = first.setdefault((chassis[0], machine.address),
                                           (entry.uuid, router))
            if other.uuid != router.uuid:
                found[machine.router, machine.address] = (
                    f'router {other.called} has a machine of {name} with the '
                    'same address, and its gateway is on the same node, which '
                    'cannot tell them apart; give the gateways different '
                    'nodes')
    return found


def _judged(find: source.Find, entry: egress_file.Entry,
            machine: model.EgressMachine) -> model.EgressMachine:
    """A machine, with the reason why it does not count."""
    winner = find.ask(selection.contested).get(
        (machine.router, machine.address), entry.uuid)
    family = networks.family(machine.address)
    why = ''
    if winner != entry.uuid:
        why = f'egress address {winner} has it, too, and is first by its name'
    elif not any(networks.family(each) == family for each in entry.addresses):
        why = f'no address of IPv{family:d} is in the file'
    else:
        why = find.ask(routers.translated, machine.router, machine.address,
                       entry.addresses)
    if not why and entry.mode is _MODE.HOST:
        why = find.ask(routers.outside, machine.address)
    return dataclasses.replace(machine, why=why) if why else machine

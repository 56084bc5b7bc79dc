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

"""A driver of another project: a note for the node and for each router."""

import dataclasses

from oslo_config import cfg

from ovn_network_agent import resources
from ovn_network_agent.drivers import base

# The word by which the watch of the driver puts notes in doubt.
CHANGED = 'note:changed'


@dataclasses.dataclass(frozen=True, slots=True)
class Note(resources.Resource):
    """A line of text with a name.

    :ivar name: name of the note
    :ivar text: the line
    """

    name: str
    text: str

    kind = 'note'
    # A note says what is there, so a note comes after everything else.
    stage = resources.Stage.LEAD

    @property
    def key(self):
        return (self.name,)


class NoteDriver(base.Driver):
    """Wants a note for the node, and one for each router served here."""

    CONFIG_OPTS = (
        cfg.StrOpt('greeting', default='served by', mutable=True,
                   help='First words of each note.'),
        cfg.IntOpt('width', default=200, min=20, mutable=True,
                   help='Number of characters of the longest note.'),
    )

    @classmethod
    def runs_without_ovn(cls, settings):
        return True

    def events(self):
        yield base.Watch('nb', 'Address_Set', ('name', 'addresses'),
                         stale=(CHANGED,))

    def for_node(self, node):
        yield self._note('node', node)

    def for_router(self, router, node):
        if router.local_ports:
            yield from self._served(router, node)
        elif router.served_ports:
            # The next owner takes over; this note stays as found until then.
            yield resources.Keep(resources.Ref(Note.kind, (router.uuid,)))

    def _served(self, router, node):
        for port in router.local_ports:
            if port.segment is None:
                yield resources.Problem(
                    f'the note of router {router.name} leaves out port '
                    f'{port.lrp}, because its network cannot be resolved; map '
                    'the network in ovn-bridge-mappings',
                    router=router.uuid)
        networks = [network for port in router.local_ports if port.segment
                    for network in port.networks]
        yield self._note(router.uuid, node,
                         f': {" ".join(networks)} with '
                         f'{len(floating_ips(router))} floating IPs')

    def _note(self, name, node, rest=''):
        own = self.settings.note
        text = f'{own.greeting} {node.hostname}{rest}'
        return Note(name, text[:own.width])


def floating_ips(router):
    """Addresses of the centralised floating IPs of a router, a list.

    :param router: :class:`ovn_network_agent.model.Router`
    """
    return [nat.external_ip for nat in router.nats
            if nat.type == 'dnat_and_snat' and not nat.distributed_mac]

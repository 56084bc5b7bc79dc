# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A driver of another project: notes about the node and what it serves."""

import dataclasses

from oslo_config import cfg

from ovn_network_agent import model
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
    """Wants a note for the node, each router and each floating IP here."""

    CONFIG_OPTS = (
        cfg.StrOpt('greeting', default='served by', mutable=True,
                   help='First words of each note.'),
        cfg.IntOpt('width', default=200, min=20, mutable=True,
                   help='Number of characters of the longest note.'),
    )
    SUBJECTS = (model.Node, model.Router, model.ServedAddress)

    @classmethod
    def runs_without_ovn(cls, settings):
        return True

    def events(self):
        yield base.Watch('nb', 'Address_Set', ('name', 'addresses'),
                         stale=(CHANGED,))

    def resources(self, subject, node):
        match subject:
            case model.Node():
                yield self._note('node', node)
            case model.Router():
                yield from self._router(subject, node)
            case model.ServedAddress():
                yield from self._address(subject, node)

    def _router(self, router, node):
        if router.local_ports:
            yield from self._served(router, node)
        elif router.served_ports:
            yield self._kept(router.uuid)

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
        yield self._note(router.uuid, node, f': {" ".join(networks)}')

    def _address(self, served, node):
        if ('fip' not in served.kinds or not served.answered or
                served.resident):
            return
        if served.port.local:
            yield self._note(served.address, node,
                             f': floating IP of {served.called}')
        else:
            yield self._kept(served.address)

    def _kept(self, name):
        """The next owner takes over; the note stays as found until then."""
        return resources.Keep(resources.Ref(Note.kind, (name,)))

    def _note(self, name, node, rest=''):
        own = self.settings.note
        text = f'{own.greeting} {node.hostname}{rest}'
        return Note(name, text[:own.width])

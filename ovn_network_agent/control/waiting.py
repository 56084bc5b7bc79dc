# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The missing steps of a drain or an undrain.  Pure."""

from ovn_network_agent import model

# Most gateways that one line names.
_NAMED = 10


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
    return away + [f'{group["label"]}: {", ".join(group["pending"])}'
                   for group in _pending(done, state)]


class Progress:
    """How far a command has come, from one "status" to the next.

    A gateway counts from the first look that finds it still to be moved, so
    that a gateway which was never here does not count as handed over.

    :param done: the answer to the command, see :mod:`maintenance`
    """

    def __init__(self, done):
        self._done = done
        self._seen = set()
        self._left = set()

    def look(self, state):
        """The steps that the command still waits for, see :func:`missing`.
        """
        found = missing(self._done, state)
        if _seen(self._done, set(state['drains'])):
            self._left = {group['uuid'] or group['name']
                          for group in _pending(self._done, state)}
            self._seen |= self._left
        return found

    def text(self, steps, seconds):
        """One line for people.

        :param steps: what the command waits for, a list of str
        :param seconds: since the command was given
        """
        count = self.count()
        parts = [count] if count else []
        parts += steps[:_NAMED]
        if len(steps) > _NAMED:
            parts.append(f'and {len(steps) - _NAMED} more')
        return f'for {seconds:.0f} s: {"; ".join(parts)}'

    def count(self):
        """How many gateways are done, such as "2 of 3 handed over", or ''.
        """
        if not self._seen:
            return ''
        word = ('handed over' if self._done['command'] == 'drain' else
                'restored')
        return (f'{len(self._seen - self._left)} of {len(self._seen)} '
                f'{word}')


def _pending(done, state):
    return [group for group in state['groups']
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

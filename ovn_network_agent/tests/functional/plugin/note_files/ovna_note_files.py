# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A backend of another project: each note is a file of one folder.

The first line of a file is the mark of ownership, the second is the text.
"""

import os
import threading

from oslo_config import cfg
import ovna_note

from ovn_network_agent.backends import base

MARK = '# ovn-network-agent-note\n'
# The word for the return of the folder, which may be on another machine.
RETURNED = 'note:returned'
# Seconds between two looks at a folder that is away.
PAUSE = 0.5


class NoteBackend(base.Backend):
    """Reads and writes the files of a folder."""

    name = 'note'
    kinds = (ovna_note.Note,)
    doubted_by = (ovna_note.CHANGED,)
    revived_by = (RETURNED,)
    CONFIG_OPTS = (
        cfg.StrOpt('folder', default='/var/lib/ovn-network-agent/notes',
                   help='Folder of the notes. The folder must exist.'),
    )

    @classmethod
    def runs_without_ovn(cls, conf):
        return True

    def __init__(self, conf):
        super().__init__(conf)
        self._wake = None
        self._watch = None
        self._closing = threading.Event()

    def attach(self, context):
        self._wake = context.wake

    def close(self):
        self._closing.set()
        if self._watch:
            self._watch.join()

    def check(self):
        folder = self.conf.note.folder
        if os.path.isdir(folder) and os.access(folder, os.W_OK):
            return []
        return [f'[note] folder = {folder}: this is no folder that the agent '
                'can write; make the folder, for the user of the agent']

    def read(self, known):
        try:
            names = os.listdir(self.conf.note.folder)
        except OSError as e:
            self._look_out()
            raise base.BackendError(f'the notes cannot be read: {e}') from e
        return [note for note in map(self._read, names) if note]

    def _look_out(self):
        """Have a thread tell when the folder is there again."""
        if self._wake and not (self._watch and self._watch.is_alive()):
            self._watch = threading.Thread(target=self._await_folder,
                                           name='notes', daemon=True)
            self._watch.start()

    def _await_folder(self):
        while not self._closing.wait(PAUSE):
            if os.path.isdir(self.conf.note.folder):
                self._wake('the notes are back', revived=(RETURNED,))
                return

    def _read(self, name):
        """The note in a file, or None where the file is not ours."""
        try:
            with open(self._path(name)) as opened:
                lines = opened.readlines()
        except (OSError, UnicodeError):
            return None
        if lines[:1] != [MARK]:
            return None
        return ovna_note.Note(name, ''.join(lines[1:]).rstrip('\n'))

    def apply(self, delta):
        failures = {}
        for note in (*delta.create, *(new for _old, new in delta.update)):
            self._try(self._write, note, failures)
        for note in delta.delete:
            self._try(self._remove, note, failures)
        return failures

    def _try(self, change, note, failures):
        """One bad note costs only itself."""
        try:
            reason = change(note)
        except OSError as e:
            reason = e.strerror
        if reason:
            failures[note.ref] = reason

    def _write(self, note):
        """Write a note; gives the reason where that must not be."""
        path = self._path(note.name)
        if os.path.lexists(path) and not self._read(note.name):
            return f'{path} exists, and is not a note; remove it'
        with open(path + '.new', 'w') as opened:
            opened.write(f'{MARK}{note.text}\n')
        os.replace(path + '.new', path)
        return None

    def _remove(self, note):
        """Remove a note; gives the reason where the note has to stay."""
        path = self._path(note.name)
        found = self._read(note.name)
        if found is None:
            # Gone, or replaced by somebody: nothing of ours is left.
            return None
        if '\n' in found.text:
            return base.Kept(f'somebody has added lines to {path}')
        os.unlink(path)
        return None

    def _path(self, name):
        return os.path.join(self.conf.note.folder, name)

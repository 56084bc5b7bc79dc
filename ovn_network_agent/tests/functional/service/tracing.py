# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which files of the agent an event enters, in order, and from where."""

import pathlib
import threading

from ovn_network_agent.tests import tools

packages = tools.load('packages')

PACKAGE = packages.ROOT / packages.NAME
# What is passed along, and no step: options, and frozen values.
_VALUES = ('conf', 'values')
# But this module of the root is a step.
_TRIGGER = 'common/trigger.py'
# Seconds that a thread at rest must still have before something is due.
_REST = 5


class Trace:
    """Notes the calls of threads that begin while the trace is there.

    A thread is followed in the functions that :meth:`follow` names, and in
    all that these call.  What a library calls begins a path of its own.

    :param case: the test at whose end the trace ends
    :param rest: the function, as in :attr:`steps`, in which the thread of the
        agent waits for the seconds of the parameter ``timeout``
    :ivar steps: list of (function that calls, function that is called), each
        a tuple (path below the package, qualified name); the first one is
        None where a path begins
    """

    def __init__(self, case, rest):
        self.steps = []
        self.ended = threading.Event()
        self._begins, self._first, self._end = frozenset(), None, None
        self._rest, self._rests = rest, False
        self._turn = threading.Condition()
        self._local = threading.local()
        self._names = {}
        threading.setprofile(self._profile)
        case.addCleanup(threading.setprofile, None)
        case.addCleanup(self.ended.set)

    def follow(self, begins, end, deadline):
        """Note from now on what these functions call, up to one of them.

        What is under way when a trace begins would do the work unseen, and
        what is still due would be taken for an effect of the event.  The
        trace therefore begins while the thread of the agent waits.

        :param begins: tuple of functions, as in :attr:`steps`; the others
            count after the first one has been called
        :param end: the function that is the last step
        :param deadline: seconds to wait for the rest
        :raises: :class:`TimeoutError` if the thread does not come to rest
        """
        with self._turn:
            if not self._turn.wait_for(lambda: self._rests, deadline):
                raise TimeoutError(f'no rest within {deadline} s')
            self._end, self._first = end, begins[0]
            self._begins = frozenset(begins)

    def files(self):
        """The files that are entered, in this order.

        :returns: dict of path to (function that is called first, path of the
            file from where, '' where a path begins)
        """
        found = {}
        for by, (path, name) in self.steps:
            found.setdefault(path, (name, by[0] if by else ''))
        return found

    def upward(self):
        """The steps into a package above that of the caller, a list.

        A begin counts as called by a library.
        """
        return [(by, called) for by, called in dict.fromkeys(self.steps)
                if by and called not in self._begins and
                _level(called[0]) < _level(by[0])]

    def _profile(self, frame, event, _arg):
        if self._where(frame.f_code) == self._rest:
            self._note_rest(event, frame)
        if (event not in ('call', 'return') or not self._begins or
                self.ended.is_set()):
            return
        where = self._where(frame.f_code)
        stack = self._local.__dict__.setdefault('stack', [])
        if event == 'return':
            if stack and stack[-1][1] is frame:
                stack.pop()
            return
        if where is None or not stack and not self._is_begin(where):
            return
        by = stack[-1][0] if stack else None
        if by and frame.f_back is not None and not self._ours(frame.f_back):
            by = None
        self.steps.append((by, where))
        stack.append((where, frame))
        if where == self._end:
            self.ended.set()

    def _is_begin(self, where):
        return where in self._begins and (bool(self.steps) or
                                          where == self._first)

    def _note_rest(self, event, frame):
        """Note that the thread of the agent begins to wait, or ends it."""
        if event in ('call', 'return'):
            with self._turn:
                self._rests = (event == 'call' and
                               frame.f_locals['timeout'] >= _REST)
                self._turn.notify_all()

    def _ours(self, frame):
        """Whether code of the agent calls, or code that it has generated."""
        name = frame.f_code.co_filename
        return name.startswith(('<', str(PACKAGE)))

    def _where(self, code):
        """(path below the package, name) of code of the agent, or None."""
        if code not in self._names:
            path = pathlib.Path(code.co_filename)
            ours = (path.is_relative_to(PACKAGE) and
                    not path.is_relative_to(PACKAGE / 'tests') and
                    code.co_name != '<module>')
            self._names[code] = (str(path.relative_to(PACKAGE)),
                                 code.co_qualname) if ours else None
        return self._names[code]


def package(path):
    """The package of a file, as in tools/packages.py."""
    return packages.package(path.removesuffix('.py').replace('/', '.'))


def is_step(path):
    """Whether a file decides or changes something, and is not a value."""
    return path == _TRIGGER or package(path) not in _VALUES


def _level(path):
    """The place of a file's package in the order, 0 at the top."""
    return packages.ORDER.index(package(path))


def text(trace):
    """What the page shows: the steps, from where each comes, and the values.

    :param trace: :class:`Trace` that has ended
    """
    files = trace.files()
    steps = [path for path in files if is_step(path)]
    number = {path: str(place) for place, path in enumerate(steps, 1)}
    lines = ['   file                                enters by'
             '                          from']
    lines += [f'{number[path]:>2} {path:<35} {name:<34} {number.get(by, "")}'
              for path, (name, by) in files.items() if path in number]
    return '\n'.join((
        *(line.rstrip() for line in lines), '', 'Values and options:', '',
        *(f'   {path}' for path in sorted(files.keys() - number.keys())))
        ) + '\n'

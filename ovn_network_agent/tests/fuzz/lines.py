# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which lines of the agent have run.

Only the first run of a line matters: an input that runs a new line is kept.
Python 3.12 and later report a line once (``sys.monitoring``), which costs
nearly nothing.  Python 3.11 has ``sys.settrace`` alone.  There a function
whose lines have all run is traced no more.
"""

import os
import sys

import ovn_network_agent

ROOT = os.path.dirname(ovn_network_agent.__file__) + os.sep
_TESTS = os.path.join(ROOT, 'tests') + os.sep
_NAME = 'ovn-network-agent-fuzz'


def is_ours(code):
    """Whether a code object is of the agent, and not of its tests."""
    return code.co_filename.startswith(ROOT) and (
        not code.co_filename.startswith(_TESTS))


class _Base:
    """Notes lines between ``with`` and its end.

    :ivar functions: set of (file below the package, qualified name) of the
        functions that have run
    """

    def __init__(self, of=is_ours):
        self._of = of
        self._fresh = 0
        self.functions = set()

    def fresh(self):
        """The number of lines that have run for the first time since then."""
        found, self._fresh = self._fresh, 0
        return found

    def _note(self, code):
        self._fresh += 1
        self.functions.add((code.co_filename.removeprefix(ROOT),
                            code.co_qualname))


class Traced(_Base):
    """With ``sys.settrace``, of the thread that enters."""

    def __init__(self, of=is_ours):
        super().__init__(of)
        self._left = {}
        self._former = None

    def __enter__(self):
        self._former = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *unused):
        sys.settrace(self._former)

    def _call(self, frame, _event, _argument):
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            left = self._left[code] = {
                line for _start, _end, line in code.co_lines()
                if line is not None} if self._of(code) else set()
            if left:
                # A call reports no line of its own.
                self._note(code)
                left.discard(code.co_firstlineno)
        return self._line if left else None

    def _line(self, frame, event, _argument):
        left = self._left[frame.f_code]
        if event == 'line' and frame.f_lineno in left:
            left.discard(frame.f_lineno)
            self._note(frame.f_code)
        return self._line if left else None


class Monitored(_Base):
    """With ``sys.monitoring``, of all threads."""

    def __enter__(self):
        monitoring = sys.monitoring
        self._tool = next(number for number in range(6)
                          if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(self._tool, _NAME)
        monitoring.register_callback(
            self._tool, monitoring.events.LINE, self._line)
        monitoring.restart_events()
        monitoring.set_events(self._tool, monitoring.events.LINE)
        self._seen = getattr(self, '_seen', set())
        return self

    def __exit__(self, *unused):
        sys.monitoring.set_events(self._tool, 0)
        sys.monitoring.free_tool_id(self._tool)

    def _line(self, code, line):
        if self._of(code) and (code, line) not in self._seen:
            self._seen.add((code, line))
            self._note(code)
        return sys.monitoring.DISABLE


Lines = Monitored if hasattr(sys, 'monitoring') else Traced

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""YAML with line numbers, and without its surprises.

Scalars have only the types of JSON, as in YAML 1.2: ``0o53``, ``053`` and
``1:30`` are text, and so is an IPv6 address that YAML 1.1 reads as a number of
base 60 (``2001:5:0:0:0:0:0:1``).  A tag makes no object, and a repeated key is
an error.
"""

import re
import typing
from typing import Any

import yaml

from ovn_network_agent.files import file_problems

# 10,000 VIPs with all their rules have less.  The limit is for aliases, which
# can make any number of values of a short text.
_VALUES = 2_000_000
# The document has a field with the name of the module.
_Path: typing.TypeAlias = file_problems.Path
_Flaws: typing.TypeAlias = list[file_problems.Flaw]
_TAG = 'tag:yaml.org,2002:'
_MERGE = _TAG + 'merge'
_TRUE = ('true', 'yes', 'on')


# In C it takes a tenth of the time.
class _Loader(getattr(yaml, 'CSafeLoader',  # type: ignore[misc]
                      yaml.SafeLoader)):
    yaml_implicit_resolvers: dict[str, Any] = {}


for _name, _pattern, _first in (
        ('null', r'(?:~|null|Null|NULL|)\Z', ['~', 'n', 'N', '']),
        ('bool', r'(?:true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|'
                 r'on|On|ON|off|Off|OFF)\Z', list('tTfFyYnNoO')),
        ('int', r'[-+]?(?:0|[1-9][0-9]*)\Z', list('-+0123456789')),
        ('float', r'[-+]?(?:0|[1-9][0-9]*)?\.[0-9]*\Z',
         list('-+.0123456789')),
        ('merge', r'<<\Z', ['<'])):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(_pattern), _first)


class Document(typing.NamedTuple):
    """The content of a YAML text."""

    value: Any  # the root value, of dict, list, str, int, float, bool and None
    lines: dict[_Path, int]  # of each value, or of its key
    flaws: _Flaws

    def line(self, path: _Path) -> int:
        """Line of a path, or of the nearest existing parent."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def parse(text: str) -> Document:
    """Read one document."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
        return _Reader().read(node)
    except yaml.YAMLError as error:
        return Document(None, {}, [_malformed(text, error)])
    except RecursionError:
        return Document(None, {}, [file_problems.Flaw(
            1, (), file_problems.NOTHING, 'it is nested too deeply; write it '
            'as the documentation shows')])


def _malformed(text: str, error: yaml.YAMLError) -> file_problems.Flaw:
    mark = getattr(error, 'problem_mark', None) or getattr(
        error, 'context_mark', None)
    what = getattr(error, 'problem', None) or getattr(
        error, 'reason', None) or str(error)
    if mark is not None:
        line = mark.line + 1
    else:
        # For a character that is not allowed, only the position is known.
        line = text.count('\n', 0, getattr(error, 'position', 0) or 0) + 1
    context = getattr(error, 'context', None)
    if context:
        what = f'{what} ({context})'
    return file_problems.Flaw(line, (), file_problems.NOTHING,
                              f'this is no YAML: {what}; look at this line '
                              'and the one before')


class _Reader:
    def __init__(self) -> None:
        self._lines: dict[file_problems.Path, int] = {}
        self._flaws: list[file_problems.Flaw] = []
        self._above: list[yaml.Node] = []
        self._count = 0

    def read(self, node: yaml.Node | None) -> Document:
        """The :class:`Document` of the root node, None for an empty text."""
        value = None if node is None else self._value(node, ())
        return Document(value, self._lines, self._flaws)

    def _flaw(self, node: yaml.Node, path: file_problems.Path, value: object,
              text: str) -> None:
        self._flaws.append(file_problems.Flaw(
            node.start_mark.line + 1, path, value, text))

    def _value(self, node: yaml.Node, path: file_problems.Path) -> Any:
        self._lines.setdefault(path, node.start_mark.line + 1)
        self._count += 1
        if self._count > _VALUES or any(node is n for n in self._above):
            if self._count <= _VALUES + 1:
                self._flaw(node, path, file_problems.NOTHING,
                           'an alias (*) repeats this without end; write out '
                           'what is meant')
            return None
        self._above.append(node)
        try:
            return self._made(node, path)
        finally:
            self._above.pop()

    def _made(self, node: yaml.Node, path: file_problems.Path) -> Any:
        kind = node.tag.removeprefix(_TAG)
        if isinstance(node, yaml.MappingNode) and kind == 'map':
            return {key: self._value(value, path + (key,))
                    for key, value in self._pairs(node, path).items()}
        if isinstance(node, yaml.SequenceNode) and kind == 'seq':
            return [self._value(item, path + (index,))
                    for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(kind, node, path)
        return self._unknown_tag(node, path)

    def _scalar(self, kind: str, node: yaml.Node,
                path: file_problems.Path) -> Any:
        try:
            if kind in ('str', 'merge'):
                return node.value
            if kind == 'null':
                return None
            if kind == 'bool':
                return node.value.lower() in _TRUE
            if kind == 'int':
                return int(node.value)
            if kind == 'float':
                number = float(node.value)
                # JSON Schema takes 53.0 for an integer, so this does, too.
                return int(number) if number.is_integer() else number
        except ValueError:
            # The scalar has an explicit tag, or is a mere ".".
            return node.value
        return self._unknown_tag(node, path)

    def _unknown_tag(self, node: yaml.Node, path: file_problems.Path) -> None:
        self._flaw(node, path, file_problems.NOTHING,
                   f'tag {node.tag.replace(_TAG, "!!")} has no meaning here; '
                   'remove it')
        return None

    def _pairs(self, node: yaml.Node,
               path: file_problems.Path) -> dict[str, yaml.Node]:
        """By key, merged ones last."""
        found: dict[str, yaml.Node] = {}
        lines: dict[str, int] = {}
        merged: list[dict[str, yaml.Node]] = []
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self._flaw(key, path, file_problems.NOTHING,
                           'a key must be a word')
            elif key.tag == _MERGE:
                merged += self._merged(value, path)
            elif key.value in found:
                self._flaw(key, path + (key.value,), file_problems.NOTHING,
                           'this key is there twice, also in line '
                           f'{lines[key.value]:d}; remove one of them')
            else:
                found[key.value] = value
                lines[key.value] = line
                self._lines[path + (key.value,)] = line
        for pairs in merged:
            for name, value in pairs.items():
                found.setdefault(name, value)
        return found

    def _merged(self, node: yaml.Node,
                path: file_problems.Path) -> list[dict[str, yaml.Node]]:
        """The mappings of ``<<``, the strongest first."""
        if any(node is n for n in self._above):
            self._flaw(node, path, file_problems.NOTHING,
                       '"<<" merges this into itself; write out what is '
                       'meant')
            return []
        if isinstance(node, yaml.SequenceNode):
            return [pairs for item in node.value
                    for pairs in self._merged(item, path)]
        if not isinstance(node, yaml.MappingNode):
            self._flaw(node, path, file_problems.NOTHING,
                       '"<<" takes a mapping, like *name of one that has '
                       '&name')
            return []
        self._above.append(node)
        try:
            return [self._pairs(node, path)]
        finally:
            self._above.pop()

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Shows that the tests notice faults: puts one at a time into a copy.

Each fault in mutations.toml replaces a text that the product has once,
wherever its file moves.  ``tests`` are regular expressions for the classes, or
single tests, below ovn_network_agent/tests that have to fail then.

    .venv/bin/python tools/mutations.py --only guard

Takes minutes for all.  The exit status is 1 for a fault that no test notices,
and 2 for a fault or a test that is not found, or tests that fail anyway.
"""

import argparse
import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import typing

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_TESTS = 'ovn_network_agent/tests'
_UNIT = ['discover', '-s', f'{_TESTS}/unit', '-t', '.']
# Seconds for the tests of a fault, and for many tests.
_LIMIT, _LONG = 180, 1200
_Files: typing.TypeAlias = dict[pathlib.Path, str]


class Fault(typing.NamedTuple):
    """A fault that a maintainer could make."""

    name: str
    harm: str  # what it does to an operator
    old: str
    new: str
    tests: list[str]

    def place(self, files: _Files) -> pathlib.Path:
        """The file with the old text.

        :raises ValueError: not exactly one file has the text once
        :raises SyntaxError: the new text makes no Python
        """
        found = [path for path, text in files.items() if self.old in text]
        number = sum(files[path].count(self.old) for path in found)
        if number != 1:
            raise ValueError(f'the old text is in the product {number} times')
        compile(files[found[0]].replace(self.old, self.new), 'new', 'exec')
        return found[0]

    def chosen(self, known: list[str]) -> list[str]:
        """The classes and single tests of a fault.

        :raises ValueError: an expression finds none
        """
        for each in self.tests:
            if not any(re.search(each, name) for name in known):
                raise ValueError(f'no test is called {each}')
        found = [name for name in known
                 if any(re.search(each, name) for each in self.tests)]
        return [name for name in found
                if name.rpartition('.')[0] not in found]


def copied(target: pathlib.Path) -> _Files:
    """Copy the tree with what is not committed; the product's files."""
    names = subprocess.run(
        ['git', 'ls-files', '-z', '-c', '-o', '--exclude-standard'],
        cwd=_ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split('\0')):
        if (_ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((_ROOT / name).read_bytes())
            (target / name).chmod((_ROOT / name).stat().st_mode)
    return {path: path.read_text() for path in sorted(
        (target / 'ovn_network_agent').rglob('*.py'))
        if target / _TESTS not in path.parents}


def tests(tree: pathlib.Path) -> list[str]:
    """Names of classes, as unit.a.test_b.CTest, and of their own tests."""
    found = []
    for path in sorted((tree / _TESTS).rglob('test_*.py')):
        module = '.'.join(path.relative_to(tree / _TESTS).parts)[:-3]
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and re.search(
                    r'^Test|Test$', node.name):
                found += [f'{module}.{node.name}', *(
                    f'{module}.{node.name}.{each.name}' for each in node.body
                    if isinstance(each, ast.FunctionDef) and
                    each.name.startswith('test_'))]
    return found


def run(tree: pathlib.Path, words: list[str], limit: float) -> str:
    """Run tests until the first fails: its name, or '' if none does."""
    try:
        done = subprocess.run(
            [sys.executable, '-m', 'testtools.run', '--failfast', *words],
            cwd=tree, text=True, errors='replace', stdin=subprocess.DEVNULL,
            env={'RANDOM_BUDGET': '0.2', **os.environ,
                 'PYTHONPATH': str(tree)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
    except subprocess.TimeoutExpired:
        return 'the time limit'
    if done.returncode == 0:
        return ''
    failed = re.search(r'^(?:FAIL|ERROR): (\S+)', done.stdout, re.MULTILINE)
    return failed[1] if failed else done.stdout[-300:]


def main() -> int:
    """Try the faults."""
    parser = argparse.ArgumentParser(description='Tries faults.')
    parser.add_argument('--only', metavar='REGEX', default='',
                        help='the faults with such names')
    parser.add_argument('--check', action='store_true',
                        help='only look for the texts and tests')
    parser.add_argument('--wide', action='store_true',
                        help='all unit tests for each fault')
    args = parser.parse_args()
    listed = tomllib.loads((_ROOT / 'tools/mutations.toml').read_text())
    words: dict[str, list[str]] = {}
    lost, survived = 0, []
    with tempfile.TemporaryDirectory(prefix='mutations-') as made:
        tree = pathlib.Path(made)
        files, known = copied(tree), tests(tree)
        for fault in (Fault(name, **each) for name, each in listed.items()):
            try:
                if re.search(args.only, fault.name):
                    fault.place(files)
                    names = [] if args.wide else fault.chosen(known)
                    words[fault.name] = [
                        f'ovn_network_agent.tests.{each}' for each in names]
            except (ValueError, SyntaxError) as e:
                lost += 1
                print(f'{fault.name}: {e}')
        if lost or args.check:
            return 2 if lost else 0
        failed = run(tree, sorted({*sum(words.values(), [])}) or _UNIT, _LONG)
        if failed:
            print(f'Without any fault already fails: {failed}')
            return 2
        for name, tried in words.items():
            fault, began = Fault(name, **listed[name]), time.monotonic()
            path = fault.place(files)
            path.write_text(files[path].replace(fault.old, fault.new))
            failed = run(tree, tried or _UNIT, _LIMIT if tried else _LONG)
            path.write_text(files[path])
            survived += [] if failed else [name]
            print(f'{"killed" if failed else "SURVIVED":8} {name:28} '
                  f'{time.monotonic() - began:4.0f} s  '
                  f'{failed or fault.harm}', flush=True)
    print(f'{len(words) - len(survived)} of {len(words)} faults are noticed',
          *survived, sep='\n')
    return 1 if survived else 0


if __name__ == '__main__':
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Shows that the tests notice faults: puts one at a time into a copy.

Each fault in mutations.toml replaces a text that the product has once,
wherever its file moves.  ``tests`` are regular expressions for the classes of
tests that have to fail then, below ovn_network_agent/tests.

    .venv/bin/python tools/mutations.py --only guard

Takes minutes for all.  The exit status is 1 for a fault that no test notices,
and 2 for a fault or a test that is not found, or tests that fail anyway.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_PACKAGE = 'ovn_network_agent'
_TESTS = f'{_PACKAGE}/tests'
# Seconds for the tests of a fault, and for all unit tests.
_LIMIT, _WIDE_LIMIT = 180, 1200


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault that a maintainer could make."""

    name: str
    harm: str  # what it does to an operator
    old: str
    new: str
    tests: list[str]

    def place(self, files: dict[pathlib.Path, str]) -> pathlib.Path:
        """The file with the old text.

        :raises ValueError: not exactly one file has the text once, or the
            new text makes no Python
        """
        found = [path for path, text in files.items() if self.old in text]
        number = sum(files[path].count(self.old) for path in found)
        if number != 1:
            raise ValueError(f'the old text is in the product {number} times')
        compile(self.applied(files[found[0]]), str(found[0]), 'exec')
        return found[0]

    def applied(self, text: str) -> str:
        """A file's text with the fault."""
        return text.replace(self.old, self.new)


def copied(target: pathlib.Path) -> None:
    """Copy the tree as it is, with what is not committed."""
    names = subprocess.run(
        ['git', 'ls-files', '-z', '--cached', '--others',
         '--exclude-standard'], cwd=_ROOT, check=True, text=True,
        stdout=subprocess.PIPE).stdout.split('\0')
    for name in filter(None, names):
        if (_ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((_ROOT / name).read_bytes())
            (target / name).chmod((_ROOT / name).stat().st_mode)


def product(tree: pathlib.Path) -> dict[pathlib.Path, str]:
    """The text of each Python file of the product."""
    return {path: path.read_text() for path in sorted(
        (tree / _PACKAGE).rglob('*.py')) if tree / _TESTS not in path.parents}


def classes(tree: pathlib.Path) -> list[str]:
    """The classes of tests below the tests' package, as unit.a.test_b.C."""
    return [f'{".".join(path.relative_to(tree / _TESTS).parts)[:-3]}.{name}'
            for path in sorted((tree / _TESTS).rglob('test_*.py'))
            for name in re.findall(r'^class (\w+Test|Test\w+)\b',
                                   path.read_text(), re.MULTILINE)]


def chosen(fault: Fault, known: list[str]) -> list[str]:
    """The classes that a fault names.

    :raises ValueError: an expression finds none
    """
    for each in fault.tests:
        if not any(re.search(each, name) for name in known):
            raise ValueError(f'no class of tests is called {each}')
    return [name for name in known
            if any(re.search(each, name) for each in fault.tests)]


def run(tree: pathlib.Path, names: list[str], limit: float) -> str:
    """Run tests until the first fails: its name, or '' if none does.

    :param names: of classes; empty for all unit tests
    :param limit: seconds
    """
    what = ([f'{_TESTS.replace("/", ".")}.{name}' for name in names] or
            ['discover', '-s', f'{_TESTS}/unit', '-t', '.'])
    try:
        done = subprocess.run(
            [sys.executable, '-m', 'testtools.run', '--failfast', *what],
            cwd=tree, env={'RANDOM_BUDGET': '0.2', **os.environ,
                            'PYTHONPATH': str(tree)}, text=True,
            errors='replace', stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=limit)
    except subprocess.TimeoutExpired:
        return 'the time limit'
    if done.returncode == 0:
        return ''
    failed = re.search(r'^(?:FAIL|ERROR): (\S+)', done.stdout, re.MULTILINE)
    return failed[1] if failed else done.stdout[-300:]


def main() -> int:
    """Try the faults."""
    parser = argparse.ArgumentParser(description=(
        'Tries whether the tests notice faults.'))
    parser.add_argument('--only', metavar='REGEX', default='',
                        help='try the faults with such names')
    parser.add_argument('--check', action='store_true',
                        help='only look for the texts and tests')
    parser.add_argument('--wide', action='store_true',
                        help='run all unit tests for each fault')
    args = parser.parse_args()
    listed = tomllib.loads((_ROOT / 'tools/mutations.toml').read_text())
    faults = [Fault(name, **each) for name, each in listed.items()
              if re.search(args.only, name)]
    with tempfile.TemporaryDirectory(prefix='mutations-') as made:
        tree = pathlib.Path(made)
        copied(tree)
        files, known, lost = product(tree), classes(tree), 0
        for fault in faults:
            try:
                fault.place(files)
                args.wide or chosen(fault, known)
            except (ValueError, SyntaxError) as e:
                lost += 1
                print(f'{fault.name}: {e}')
        if lost or args.check:
            return 2 if lost else 0
        everything = sorted({name for fault in faults
                             for name in chosen(fault, known)}
                            if not args.wide else ())
        failed = run(tree, everything, _WIDE_LIMIT)
        if failed:
            print(f'Without any fault already fails: {failed}')
            return 2
        survived = [fault.name for fault in faults if not tried(
            tree, fault, files, [] if args.wide else chosen(fault, known))]
    print(f'{len(faults) - len(survived)} of {len(faults)} faults are noticed'
          + ''.join(f'\nnot noticed: {name}' for name in survived))
    return 1 if survived else 0


def tried(tree: pathlib.Path, fault: Fault, files: dict[pathlib.Path, str],
          names: list[str]) -> str:
    """Try a fault: the test that fails, or ''."""
    began, path = time.monotonic(), fault.place(files)
    path.write_text(fault.applied(files[path]))
    try:
        failed = run(tree, names, _LIMIT if names else _WIDE_LIMIT)
    finally:
        path.write_text(files[path])
    print(f'{"killed" if failed else "SURVIVED":8} {fault.name:28} '
          f'{time.monotonic() - began:4.0f} s  '
          f'{failed or fault.harm}', flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The functional tests that are nearest to a change.

The change is the difference between the working tree and the branch main, or
the last commit if there is no difference.  The distance of a module from the
change is the number of imports between them.  A test that runs or reads a
module or file by its name counts as one that imports the module or file.

Prints a regular expression for the nearest test modules that fit into the
time.  Standard error names the modules that do not fit.
"""

import ast
import collections
import dbm
import heapq
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ('ovn_network_agent', 'lab', 'tools')
TESTS = 'ovn_network_agent.tests.'
FUNCTIONAL = TESTS + 'functional.'
MAIN = ('main', 'origin/main', 'master', 'origin/master')
# Imports that count as near; farther tests run only without near tests.
NEAR = 2
# Seconds for each processor: two minutes without the unit tests.
PATIENCE = 65
# Seconds of a test without a former run here: the mean of the tier.
USUAL = 1.2


def changed(root=ROOT):
    """The changed files, a set of paths relative to the root.

    :param root: of a git work tree
    :raises subprocess.CalledProcessError: when there is no work tree
    """
    new = _git(root, 'ls-files', '-z', '--others', '--exclude-standard')
    found = new | _difference(root, _base(root))
    return found or _difference(root, 'HEAD~1')


def _base(root):
    """The commit at which this branch left the branch main."""
    for name in MAIN:
        done = _run(root, 'merge-base', 'HEAD', name)
        if done.returncode == 0:
            return done.stdout.strip()
    return 'HEAD'


def _difference(root, commit):
    return _git(root, 'diff', '-z', '--name-only', '--no-renames', commit)


def _git(root, *words):
    done = _run(root, *words)
    done.check_returncode()
    return set(filter(None, done.stdout.split('\0')))


def _run(root, *words):
    return subprocess.run(['git', '-C', str(root), *words], text=True,
                          capture_output=True)


def modules(root=ROOT):
    """dict of dotted name to path of all modules, tests and tools too."""
    return {_dotted(path.relative_to(root)): path
            for source in SOURCES
            for path in sorted((root / source).rglob('*.py'))
            # A package that a test installs is no module of ours.
            if path.parent.joinpath('__init__.py').exists()
            or source != SOURCES[0]}


def _dotted(path):
    return '.'.join(path.with_suffix('').parts).removesuffix('.__init__')


def names_of(paths, known):
    """Names of the modules in files; other files keep their path.

    :param paths: texts, relative to the root
    :param known: see :func:`modules`
    :returns: set
    """
    return {name if (name := _dotted(pathlib.PurePath(path))) in known
            else path for path in paths}


def words(path):
    """The names in a module: (imported dotted names, texts), two sets."""
    imported, texts = set(), set()
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module)
            imported.update(f'{node.module}.{alias.name}'
                            for alias in node.names)
        elif isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    return imported, texts


def users(known, others=()):
    """The users of each module: dict of name to set of names of modules.

    :param known: see :func:`modules`
    :param others: paths of changed files that are no modules
    """
    found = collections.defaultdict(set)
    for name, path in known.items():
        imported, texts = words(path)
        # "python -m" runs the module __main__.
        run = {text + '.__main__' for text in texts}
        for used in (imported | texts | run) & known.keys():
            found[used].add(name)
        if name.startswith(TESTS):
            for other in others:
                if _mentions(texts, other):
                    found[other].add(name)
    return found


def _mentions(texts, path):
    """Whether texts of a test name a file, or a file to install."""
    *folders, base = path.split('/')
    parts = {part for text in texts if not re.search(r'\s', text)
             for part in text.split('/')}
    return (set(folders[-1:]) <= parts and
            (base in parts or path.startswith(TESTS.replace('.', '/'))))


def distances(start, known):
    """The distances from a change: dict of name to number of imports.

    A helper of one test counts as a part of the test.

    :param start: names and paths that were changed, see :func:`names_of`
    :param known: see :func:`modules`
    """
    found = {}
    using = users(known, {one for one in start if one not in known})
    waiting = [(0, one) for one in sorted(start)]
    while waiting:
        far, name = heapq.heappop(waiting)
        if name in found:
            continue
        found[name] = far
        for user in using[name]:
            heapq.heappush(waiting, (far + (not name.startswith(TESTS)),
                                     user))
    return found


def order(start, known):
    """The functional test modules near to a change, the nearest first.

    Of equally distant modules, the module with the name of the change comes
    first, and then the modules with the name of its package.

    :returns: list of dotted names
    """
    far = {name: distance for name, distance
           in distances(start, known).items() if is_test(name)}
    limit = max(NEAR, min(far.values(), default=0))
    names = {one.rpartition('.')[2] for one in start}
    packages = {one.split('.')[1] for one in start if one.count('.') > 1}

    def key(name):
        _before, package, last = name.rsplit('.', 2)
        return (name not in start, far[name],
                last.removeprefix('test_') not in names,
                package not in packages, name)
    return sorted((name for name in far if far[name] <= limit), key=key)


def is_test(name):
    """Whether the dotted name is that of a module of functional tests."""
    return (name.startswith(FUNCTIONAL) and
            name.rpartition('.')[2].startswith('test_'))


def seconds(names, known, measured):
    """The time of the tests of each module, dict of name to seconds.

    :param measured: dict of id of a test to seconds
    """
    found = dict.fromkeys(names, 0.0)
    for test, took in measured.items():
        name = test.rsplit('.', 2)[0]
        if name in found:
            found[name] += took
    return {name: took or USUAL * _tests(known[name])
            for name, took in found.items()}


def _tests(path):
    return sum(isinstance(node, ast.FunctionDef) and
               node.name.startswith('test')
               for node in ast.walk(ast.parse(path.read_text())))


def measured(root=ROOT):
    """The time of each test in its last run here, dict of id to seconds."""
    found = {}
    for path in sorted(root.glob('build/stestr/functional*/.stestr')):
        try:
            with dbm.open(str(path / 'times.dbm'), 'r') as times:
                found.update((key.decode(), float(times[key]))
                             for key in times.keys())
        except dbm.error:
            continue
    return found


def choose(names, took, patience, start=()):
    """The modules that fit into the time, and the other modules: two lists.

    :param names: names of modules, the most wanted first
    :param took: dict of name to seconds
    :param patience: seconds
    :param start: names of the change; a changed test runs in any case
    """
    chosen, left = [], []
    for name in names:
        if name in start or took[name] <= patience:
            chosen.append(name)
            patience -= took[name]
        else:
            left.append(name)
    return chosen, left


def main():
    known = modules()
    start = names_of(changed(), known)
    without = tuple(FUNCTIONAL + word for word in sys.argv[1:])
    names = order(start, known)
    took = seconds(names, known, measured())
    chosen, left = choose(
        [name for name in names if not name.startswith(without)], took,
        PATIENCE * (os.cpu_count() or 1), start)
    left += [name for name in names if name.startswith(without)]
    if left:
        names = ' '.join(sorted(
            name.removeprefix(FUNCTIONAL) for name in left))
        print(f'== For lack of time left out: {names}', file=sys.stderr)
    if chosen:
        patterns = '|'.join(map(re.escape, chosen))
        print(rf'^({patterns})\.')


if __name__ == '__main__':
    main()

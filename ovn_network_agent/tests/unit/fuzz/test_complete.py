# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Each parser of foreign text or bytes has a target, and so has each call.

A parser is a function that calls one of :data:`CALLS`: these take texts and
bytes apart.  The corpus has to reach each of them, unless its module is in
:data:`OURS`: what is read there is of the agent itself or of its operator, or
was read by a parser before.
"""

import ast
import contextlib
import dataclasses
import json
import os
import pathlib
import sys
import tempfile
import unittest

import ovn_network_agent
from ovn_network_agent.tests import entry_points
from ovn_network_agent.tests.fuzz import corpus
from ovn_network_agent.tests.fuzz import engine
from ovn_network_agent.tests.fuzz import targets

ROOT = pathlib.Path(ovn_network_agent.__file__).parent
# Methods and functions that take a text or bytes apart.
CALLS = {'loads', 'raw_decode', 'get_single_node', 'safe_load', 'unpack',
         'unpack_from', 'iter_unpack', 'fullmatch', 'match', 'search',
         'finditer', 'findall', 'split', 'rsplit', 'splitlines', 'partition',
         'rpartition', 'fromhex', 'inet_ntop', 'next_event', 'from_json'}
# Modules by the reason why what they read is no foreign input.
OURS = {
    'references to objects of the agent itself': (
        'backends.kernel.address', 'backends.frr.marked_lines',
        'backends.flow',
        'backends.frr.frr_prefix_list', 'backends.frr.frr_static',
        'backends.switch_ports', 'backends.frr.marked_lines',
        'control.reports.addresses', 'control.reports.screen',
        'diagnosis.address.forwarding',
        'diagnosis.address.verdicts', 'diagnosis.node.check',
        'engine.reconciler', 'forward.node_addresses', 'forward.vip_state',
        'model.snapshot',
        'nft.transaction', 'privileged.switch.ofctl',
        'watches.node_conflicts', 'privileged.network.checks',
        'privileged.limits.permitted', 'privileged.limits.driver_limits',
        'common.bridges', 'model.evpn_names'),
    'options, and the command line of the operator': (
        'cmd.status', 'conf.command_line', 'conf.effective', 'conf.relations',
        'conf.reload', 'ovn.inputs',
        'conf.settings', 'conf.unknown', 'conf.validate', 'ctl.program',
        'diagnosis.address.gathering', 'migrate.settings',
        'ovsdb.streams', 'privileged.daemon.helper',
        'watches.frr.frr_verification',
        'diagnosis.node.ovn', 'model.selection'),
    'answers of the agent that control.client has read': (
        'ctl.status', 'ctl.announce_method', 'ctl.drain', 'ctl.intents',
        'ctl.running_agent', 'ctl.report', 'diagnosis.node.sources'),
    'the state of this process and of its interpreter': (
        'control.reports.bug_report', 'control.reports.text',
        'metrics.endpoint', 'privileged.daemon.capability',
        'privileged.daemon.memory_trim',
        'runtime.process.file_permissions'),
    'files below /proc/sys, of numbers': (
        'diagnosis.address.kernel', 'diagnosis.node.bgp.sessions',
        'diagnosis.node.kernel.forwards'),
    'a configuration of FRR that frr.filters has read': (
        'diagnosis.node.bgp.frr',
        'diagnosis.node.bgp.method'),
    'rows that python-ovs has read, and the events that match': (
        'diagnosis.readers.fleet', 'ovsdb.replica'),
}


def modules():
    """The modules of the agent: dict of name to syntax tree."""
    found = {}
    for path in sorted(ROOT.rglob('*.py')):
        parts = path.relative_to(ROOT).with_suffix('').parts
        if parts[0] != 'tests' and parts[-1] != '__init__':
            found['.'.join(parts)] = ast.parse(path.read_text())
    return found


def parsers(tree):
    """Qualified names of the functions that take something apart."""
    found = set()

    def walk(node, names):
        for child in ast.iter_child_nodes(node):
            inner = names
            if isinstance(
                    child, ast.FunctionDef | ast.AsyncFunctionDef |
                    ast.ClassDef):
                inner = (*names, child.name)
            if names and isinstance(child, ast.Call) and isinstance(
                    child.func, ast.Attribute) and child.func.attr in CALLS:
                found.add('.'.join(names))
            walk(child, inner)
    walk(tree, ())
    return found


# Functions of covered modules that only other tests reach, by the reason.
ELSEWHERE = {
    'the privileged targets, which need root, reach these': (
        ('netlink.texts', 'mac_bytes'),
        ('netlink.objects.addresses', 'encode'),
        ('netlink.texts', 'parse_interface'),
        ('netlink.objects.rules', '_attributes'), ('nft.elements', 'device'),
        ('nft.listing', 'check_digest'),
        ('openflow.codec', 'encode_actions'),
        ('openflow.ofctl_text', 'stray_match'),
        ('openflow.spec', 'check_bridge')),
    'the processes of this machine are the input': (
        ('runtime.process.single_instance', 'command_line'),
        ('runtime.process.single_instance', 'holder'),
        ('runtime.process.single_instance', '_locks'),
        ('diagnosis.readers.agent', '_parent')),
    'netlink.addresses has read the address': (
        ('netlink.objects.addresses', 'first'),),
    'options, and calls when a module is imported': (
        ('netlink.messages', 'narrow'), ('metrics.server', '_opened'),
        ('nft.rendering', 'chains')),
    'ownership has read the mark': (('ovn.chassis.absent_chassis', 'known'),),
    'the privileged side writes the argument of its own program': (
        ('privileged.overlap_keeper', 'main'),),
}


class CompleteTest(unittest.TestCase):

    maxDiff = None

    def setUp(self):
        super().setUp()
        self.covered = {module for target in targets.TARGETS.values()
                        for module in target.modules}
        self.ours = {module for listed in OURS.values() for module in listed}

    def test_each_module_that_parses_has_a_target(self):
        parsing = {name for name, tree in modules().items() if parsers(tree)}
        self.assertEqual(set(), parsing - self.covered - self.ours)

    def test_nothing_is_listed_that_is_not_there(self):
        found = modules()
        self.assertEqual(set(), (self.covered | self.ours) - set(found))
        self.assertEqual(set(), self.covered & self.ours)
        self.assertEqual(set(), {
            name for name in self.ours if not parsers(found[name])})

    def test_each_entry_point_is_called(self):
        points = entry_points.found()
        called = set()
        for name in targets.TARGETS:
            if name.startswith('privileged.'):
                called |= {json.loads(data)[0] for data in corpus.read(name)
                           if data.startswith(b'["') and _is_json(data)}
        self.assertEqual(set(), set(points) - called)
        self.assertEqual(set(), {
            f'privileged.{name.partition(".")[0]}' for name in points} -
            set(targets.TARGETS))

    def test_the_corpus_reaches_each_parser(self):
        """Also those of targets that need root have to have one elsewhere."""
        reached = set()
        for target in targets.TARGETS.values():
            if not target.root:
                reached |= {
                    (file.removesuffix('.py').replace('/', '.'),
                     name.replace('.<locals>', ''))
                    for file, name in _functions(target)}
        of_root = {module for target in targets.TARGETS.values()
                   if target.root for module in target.modules}
        missed = {
            (module, name) for module, tree in modules().items()
            if module in self.covered - of_root for name in parsers(tree)
            if (module, name) not in reached}
        self.assertEqual({one for listed in ELSEWHERE.values()
                          for one in listed}, missed)


def _is_json(data):
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _functions(target):
    """(file, qualified name) of the functions that the corpus runs."""
    found = set()

    def note(frame, event, _argument):
        code = frame.f_code
        if event == 'call' and code.co_filename.startswith(str(ROOT)):
            found.add((os.path.relpath(code.co_filename, ROOT),
                       code.co_qualname))

    def noted(data):
        sys.setprofile(note)
        try:
            target.function(data)
        finally:
            sys.setprofile(None)

    with tempfile.TemporaryFile('w+') as file:
        @contextlib.contextmanager
        def world():
            with target.world():
                yield
            json.dump(sorted(found), file)
            file.flush()

        report = engine.search(dataclasses.replace(
            target, function=noted, world=world), corpus.read(target.name),
            0, count=0)
        assert not report.findings, report.findings
        file.seek(0)
        return json.load(file)

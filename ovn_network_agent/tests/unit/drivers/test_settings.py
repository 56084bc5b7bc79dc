# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Drivers know frozen settings alone: no live option is within their reach."""

import ast
import pathlib
import types

from oslo_config import cfg
from oslotest import base

from ovn_network_agent import drivers
from ovn_network_agent.runtime import loader
from ovn_network_agent.tests.unit import world

FOLDER = pathlib.Path(drivers.__file__).parent
NAMES = ['fip_route', 'veth_leak', 'gateway_drain', 'port_forward']
# What has no values of its own.
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinMethodType,
         str, bytes, int, float, type(None))


def reached(start):
    """Everything that an object holds, directly or through others."""
    seen = {}
    waiting = [start]
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, _CODE):
            continue
        seen[id(found)] = found
        if isinstance(found, dict | types.MappingProxyType):
            waiting += [*found.keys(), *found.values()]
        elif isinstance(found, list | tuple | set | frozenset):
            waiting += found
        waiting += vars(found).values() if hasattr(found, '__dict__') else ()
        waiting += [getattr(found, name) for kind in type(found).__mro__
                    for name in getattr(kind, '__slots__', ())
                    if hasattr(found, name)]
    return list(seen.values())


def live(start):
    """Live options that an object holds, a list."""
    return [each for each in reached(start) if isinstance(
        each, cfg.ConfigOpts | cfg.ConfigOpts.GroupAttr | cfg.Opt)]


class LiveTest(base.BaseTestCase):

    def test_no_driver_holds_live_options(self):
        made = loader.load_drivers(world.conf(drivers=NAMES))
        self.assertEqual(NAMES, [driver.name for driver in made])
        for driver in made:
            self.assertIn('br-ex', driver.settings.bridge_dev)
            self.assertGreater(len(reached(driver)), 3)
            self.assertEqual([], live(driver))

    def test_it_would_be_found(self):
        conf = world.conf()
        driver = world.driver('fip_route', conf)
        for held in (conf, conf.frr, [{'a': (conf,)}]):
            driver.hidden = held
            self.assertNotEqual([], live(driver))


class SourceTest(base.BaseTestCase):

    def trees(self):
        """(name of the module, syntax tree) of each module of drivers."""
        for path in sorted(FOLDER.rglob('*.py')):
            yield path.name, ast.parse(path.read_text(), path.name)

    def test_all_are_looked_at(self):
        found = [name.removesuffix('.py') for name, _tree in self.trees()]
        self.assertLessEqual({*NAMES, 'base', 'announcing'}, {*found})

    def test_no_module_knows_live_options(self):
        """None imports their library, and nothing takes or reads conf."""
        for name, tree in self.trees():
            for node in ast.walk(tree):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    for found in (getattr(node, 'module', None),
                                  *(alias.name for alias in node.names)):
                        self.assertNotRegex(found or '', '^oslo_config', name)
                elif isinstance(node, ast.arg):
                    self.assertNotEqual('conf', node.arg, name)
                # Where packages find their settings, base.py sets it.
                elif isinstance(node, ast.Attribute | ast.Name) and isinstance(
                        node.ctx, ast.Load):
                    self.assertNotIn(
                        getattr(node, 'attr', getattr(node, 'id', '')),
                        ('conf', 'CONF'), f'{name}:{node.lineno}')

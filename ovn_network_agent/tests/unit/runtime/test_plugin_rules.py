# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a plugin may declare."""

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.common import notices
from ovn_network_agent.conf import plugins
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.drivers import source
from ovn_network_agent.runtime import loader


class Thing(resources.Resource):
    kind = 'thing'


class Nameless(resources.Resource):
    """Its class forgot to say what it is."""


class Numbered(resources.Resource):
    kind = 'numbered'
    stage = 60


class Things(backends.Backend):
    """With the values of a test in place of these."""

    name = 'things'
    kinds = (Thing,)

    def __init__(self, **values):
        super().__init__(None)
        for name, value in values.items():
            setattr(self, name, value)

    def read(self, known):
        return []

    def apply(self, delta):
        return {}


class Driver(drivers.Driver):

    def __init__(self, asks=(), *watches):
        super().__init__('driver', None)
        self.ASKS = asks
        self._watches = watches

    def events(self):
        return self._watches


class Machine:
    """A kind of subject."""


class Machines(source.Source):

    KIND = Machine
    INDEXES = {('nb', 'Port'): {'name': lambda row: [row.name]}}
    NAMES = ('nb', 'Port', 'name')

    def build(self, name, find):
        return None


class OtherMachines(Machines):
    """Of the same kind."""


class SourceTest(base.BaseTestCase):

    def driver(self, name, *made):
        driver = Driver()
        driver.name, driver.SOURCES = name, made
        return driver

    def test_two_sources_of_one_kind(self):
        for loaded in ((self.driver('one', Machines),
                        self.driver('two', OtherMachines)),
                       (self.driver('one', Machines, OtherMachines),)):
            raised = self.assertRaises(
                ValueError, loader.check_sources, loaded)
            for words in (f'{__name__}.Machines of driver one',
                          f'{__name__}.OtherMachines of driver '
                          f'{loaded[-1].name}', 'remove one of the drivers'):
                self.assertIn(words, str(raised))

    def test_drivers_share_a_source(self):
        loader.check_sources([self.driver('one', Machines),
                              self.driver('two', Machines)])

    def test_a_kind_of_the_agent(self):
        driver = self.driver('one', type('Nodes', (Machines,),
                                         {'KIND': model.Node}))
        raised = self.assertRaises(ValueError, loader.check_driver, driver)
        self.assertIn('which the agent makes itself', str(raised))


class DriverTest(base.BaseTestCase):

    def test_subjects(self):
        for kinds, error, words in (
                (model.Router, TypeError, 'SUBJECTS is <class'),
                ((model.Segment,), ValueError, 'SUBJECTS has <class'),
                ((model.Router,), TypeError, 'no method resources')):
            driver = Driver()
            driver.SUBJECTS = kinds
            raised = self.assertRaises(error, loader.check_driver, driver)
            self.assertIn(words, str(raised))

    def test_as_it_should_be(self):
        loader.check_driver(Driver(
            (plugins.RANKING, plugins.ABSENCE),
            drivers.Watch('nb', 'NAT', ('type',), (('type', '=', 'snat'),),
                          stale=[notices.kernel('link')])))

    def test_asks_and_watches(self):
        watch = drivers.Watch
        for error, words, asks, *watches in (
                (ValueError, "'rankings' is none of ranking, absence",
                 ('rankings',)),
                (TypeError, "ASKS is 'ranking', which is no tuple", 'ranking'),
                (TypeError, 'is not a drivers.base.Watch', (), 'NAT'),
                (ValueError, "'mysql' is none of nb, sb, ovs", (),
                 watch('mysql', 'NAT', ('type',))),
                (TypeError, "columns of a Watch is 'type'", (),
                 watch('nb', 'NAT', 'type')),
                (TypeError, "stale of a Watch is 'note'", (),
                 watch('nb', 'NAT', ('type',), stale='note')),
                (ValueError, "'created' is none of create, update", (),
                 watch('nb', 'NAT', ('type',), events=('created',)))):
            raised = self.assertRaises(
                error, loader.check_driver, Driver(asks, *watches))
            self.assertIn(words, str(raised))


class BackendTest(base.BaseTestCase):

    def test_what_is_refused(self):
        for error, words, values in (
                (ValueError, "name is 'route', but the entry point is called "
                 "'things'", {'name': 'route'}),
                (ValueError, 'kinds is empty', {'kinds': ()}),
                (TypeError, 'which is no tuple', {'kinds': Thing}),
                (TypeError, "'thing', which is no class of resources",
                 {'kinds': ('thing',)}),
                (ValueError, 'Nameless has no kind of its own',
                 {'kinds': (Nameless,)}),
                (ValueError, 'Problem has no kind of its own',
                 {'kinds': (resources.Problem,)}),
                (TypeError, 'stage of the class Numbered is 60',
                 {'kinds': (Numbered,)}),
                *((TypeError, f"{field} is 'kernel:link'",
                   {field: 'kernel:link'}) for field in (
                       'doubted_by', 'revived_by', 'invalidates'))):
            raised = self.assertRaises(
                error, loader.check_backend, 'things', Things(**values))
            self.assertIn(words, str(raised))

    def test_as_it_should_be(self):
        loader.check_backend('things', Things(
            doubted_by=(notices.NFTABLES,), invalidates=['route']))

    def test_owners(self):
        self.assertEqual(
            {'thing': ['things', 'others'], 'numbered': ['others']},
            loader.owners_of([
                Things(), Things(name='others', kinds=(Thing, Numbered))]))

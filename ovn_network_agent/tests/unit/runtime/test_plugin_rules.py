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

    def refused(self, error, words, asks=(), *watches):
        raised = self.assertRaises(
            error, loader.check_driver, Driver(asks, *watches))
        self.assertIn(words, str(raised))

    def test_as_it_should_be(self):
        loader.check_driver(Driver(
            (plugins.RANKING, plugins.ABSENCE),
            drivers.Watch('nb', 'NAT', ('type',), (('type', '=', 'snat'),),
                          stale=[notices.kernel('link')])))

    def test_asks(self):
        self.refused(ValueError, "'rankings' is none of ranking, absence",
                     ('rankings',))
        self.refused(TypeError, "ASKS is 'ranking', which is no tuple",
                     'ranking')

    def test_watches(self):
        self.refused(TypeError, 'is not a drivers.base.Watch', (), 'NAT')
        self.refused(ValueError, "'mysql' is none of nb, sb, ovs", (),
                     drivers.Watch('mysql', 'NAT', ('type',)))
        self.refused(TypeError, "columns of a Watch is 'type'", (),
                     drivers.Watch('nb', 'NAT', 'type'))
        self.refused(TypeError, "stale of a Watch is 'note'", (),
                     drivers.Watch('nb', 'NAT', ('type',), stale='note'))
        self.refused(ValueError, "'created' is none of create, update", (),
                     drivers.Watch('nb', 'NAT', ('type',),
                                   events=('created',)))


class BackendTest(base.BaseTestCase):

    def refused(self, error, words, **values):
        raised = self.assertRaises(
            error, loader.check_backend, 'things', Things(**values))
        self.assertIn(words, str(raised))

    def test_as_it_should_be(self):
        loader.check_backend('things', Things(
            doubted_by=(notices.NFTABLES,), invalidates=['route']))

    def test_name(self):
        self.refused(ValueError, "name is 'route', but the entry point is "
                     "called 'things'", name='route')

    def test_kinds(self):
        self.refused(ValueError, 'kinds is empty', kinds=())
        self.refused(TypeError, 'which is no tuple', kinds=Thing)
        self.refused(TypeError, "'thing', which is no class of resources",
                     kinds=('thing',))
        self.refused(ValueError, 'Nameless has no kind of its own',
                     kinds=(Nameless,))
        self.refused(ValueError, 'Problem has no kind of its own',
                     kinds=(resources.Problem,))
        self.refused(TypeError, 'stage of the class Numbered is 60',
                     kinds=(Numbered,))

    def test_words(self):
        for field in ('doubted_by', 'revived_by', 'invalidates'):
            self.refused(TypeError, f"{field} is 'kernel:link'",
                         **{field: 'kernel:link'})

    def test_owners(self):
        self.assertEqual(
            {'thing': ['things', 'others'], 'numbered': ['others']},
            loader.owners_of([
                Things(), Things(name='others', kinds=(Thing, Numbered))]))

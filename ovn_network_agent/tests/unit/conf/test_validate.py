# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What prevents a start, what is only warned about, and in which words."""

from ovn_network_agent.backends.kernel import link
from ovn_network_agent.conf import validate
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.tests.unit.conf import base


class ProblemsTest(base.ConfTestCase):

    def problems(self, text='', **kwargs):
        return validate.problems(self.load(text, **kwargs))

    def test_a_way_of_ovn_bgp_agent_that_is_not_here(self):
        for word in 'l2vni', 'dynamic', 'ovn':
            self.check(f'[DEFAULT]\nexposing_method = {word}\n',
                       f'exposing_method = {word}', 'use the driver evpn')

    def fine(self, *texts):
        """Configurations without a problem."""
        for text in texts:
            self.assertEqual([], self.problems(text))

    def check(self, text, *parts, **kwargs):
        """Exactly one problem, and its text has these parts."""
        self.check_one(self.problems(text, **kwargs), *parts)

    def test_remotes_are_all_that_is_needed(self):
        self.fine('')

    def test_missing_remotes_are_both_named_in_every_spelling(self):
        self.check('', '[ovn] ovn_nb_remote', 'section [ovn]',
                   'OS_OVN__OVN_NB_REMOTE', 'tcp:192.0.2.1:6641',
                   'OS_OVN__OVN_SB_REMOTE', remotes=False)

    def test_no_time_to_drain(self):
        text = '[gateway_drain]\ndrain_timeout = 0\n'
        drivers = '[DEFAULT]\ndrivers = gateway_drain\n'
        self.check(drivers + text, '[gateway_drain] drain_timeout = 0: ',
                   'drain_on_shutdown')
        # What is not used does no harm.
        self.fine('[DEFAULT]\ndrivers = fip_route\n' + text,
                  drivers + text + 'drain_on_shutdown = false\n')

    FORWARDS = '[port_forward]\nrules_file = /etc/rules.yaml\n'

    def test_the_table_of_replies_is_a_third_one(self):
        """CFG-31."""
        for other in ('[veth_leak]\nveth_leak_table_id = 201\n',
                      '[fip_route]\nroute_table_id = 201\n'):
            name = other.split()[1]
            self.check(self.FORWARDS + other,
                       '[port_forward] port_forward_table_id = 201: ',
                       name, 'choose another one')
            # Nothing uses it.
            self.fine(other)

    def test_the_priorities_of_port_forwards_are_taken(self):
        """CFG-29."""
        fips = ('[veth_leak]\nveth_leak_rule_priority = 1500\n'
                '[fip_route]\nroute_table_id = 100\nroute_rule_priority = ')
        leak = '[veth_leak]\nveth_leak_rule_priority = '
        for text, first, last in ((fips, 150, 152), (leak, 149, 155)):
            option = text.split()[-2]
            for number in (first, last):
                self.check(f'{self.FORWARDS}{text}{number}\n',
                           f'{option} = {number}: ', '150 to 152')
                self.fine(f'{text}{number}\n')
            self.fine(f'{self.FORWARDS}{text}{first - 1}\n',
                      f'{self.FORWARDS}{text}{last + 1}\n')
        self.fine(f'{self.FORWARDS}{leak}150\n[frr]\nvrf_name =\n')

    def test_several_bridges(self):
        self.fine('[DEFAULT]\nfurther_bridges = br-two, br-three\n')

    def test_the_device_of_vips_is_for_nothing_else(self):
        for name, other in (('br-ex', '[DEFAULT] bridge_dev'),
                            ('br-two', '[DEFAULT] further_bridges'),
                            ('vrf-x', '[frr] vrf_name'),
                            ('veth-default', 'veth pair'),
                            ('veth-provider', 'veth pair')):
            self.check('[DEFAULT]\nfurther_bridges = br-two\n'
                       '[frr]\nvrf_name = vrf-x\n' + self.FORWARDS +
                       f'port_forward_dev = {name}\n',
                       f'[port_forward] port_forward_dev = {name}: ',
                       other, 'dummy device')

    def test_check_raises_all_of_them(self):
        error = self.assertRaises(
            validate.ConfigError, validate.check, self.load(
                '[DEFAULT]\nreconcile_interval = x\n', remotes=False))
        self.assertEqual(2, len(error.messages))
        self.assertIn(error.messages[1], str(error))

    def test_bad_values_name_option_value_and_source(self):
        # Trap T66.
        self.check('[DEFAULT]\nreconcile_interval = 60s\n',
                   '[DEFAULT] reconcile_interval', "'60s'", 'test.conf')
        self.check('', '[DEFAULT] cleanup_on_shutdown', "'maybe'",
                   'OS_DEFAULT__CLEANUP_ON_SHUTDOWN',
                   env={'OS_DEFAULT__CLEANUP_ON_SHUTDOWN': 'maybe'})

    def test_a_silent_chassis_has_more_time_than_a_missing_one(self):
        """Row A-20."""
        limit = '[gateway_drain]\nsilent_chassis_limit = '
        self.check(
            f'{limit}299\n', '[gateway_drain] silent_chassis_limit = 299: ',
            'stale_chassis_grace_period (300)', '300 or more', 'off')
        self.fine(f'{limit}0\n', f'{limit}300\n',
                  f'{limit}60\nstale_chassis_grace_period = 0\n')

    def test_the_timers_of_bfd(self):
        """All of them or none, and not too short."""
        three = '[ovn]\nbfd_min_rx = {}\nbfd_min_tx = {}\nbfd_mult = {}\n'
        self.fine(*(three.format(*right) for right in (
            (0, 0, 0), (200, 200, 3), (50, 60000, 255))))
        for wrong, *parts in (
                ((200, 0, 3), '[ovn] bfd_min_rx = 200: ', 'bfd_min_tx is not '
                 'set', 'or none'),
                ((0, 0, 3), '[ovn] bfd_mult = 3: ',
                 'bfd_min_rx and bfd_min_tx is not set'),
                ((49, 200, 3), '[ovn] bfd_min_rx = 49: ', '50 or more'),
                ((200, 200, 1), '[ovn] bfd_mult = 1: ', '2 or more'),
                ((60001, 200, 3), 'bfd_min_rx', '60000')):
            self.check(three.format(*wrong), *parts)
        self.check('[DEFAULT]\ndrivers = fip_route\n' +
                   three.format(200, 200, 3), 'gateway_drain',
                   '[DEFAULT] drivers')

    def test_selections(self):
        self.fine('[announce]\ninclude_cidrs = 198.51.100.0/24\n'
                  'exclude_cidrs = 198.51.100.0/28\n',
                  '[announce]\ninclude_routers = r1, the big one\n'
                  'exclude_routers = r2\n')
        for wrong, *parts in (
                ('exclude_cidrs = 198.51.100.1\n', '[announce] exclude_cidrs',
                 "'198.51.100.1'", 'write it like'),
                ('include_cidrs = 2001:db8::1\n', 'include_cidrs',
                 "'2001:db8::1'", 'not an IP network'),
                ('include_cidrs = 2001:db8::/64\n'
                 'exclude_cidrs = 198.51.100.0/24, 2001:db8::/32\n',
                 '[announce] include_cidrs = 2001:db8::/64: ',
                 '2001:db8::/32', 'remove one'),
                ('exclude_routers = r1,r\t2\n', 'exclude_routers',
                 "'r\\t2'", 'openstack router list'),
                ('include_cidrs = 198.51.100.0/24\n'
                 'exclude_cidrs = 192.0.2.0/24, 198.51.0.0/16\n',
                 '[announce] include_cidrs = 198.51.100.0/24: ',
                 '198.51.0.0/16', 'remove one'),
                ('include_networks = public\nexclude_networks = x,public\n',
                 '[announce] include_networks = public: ', 'exclude_networks',
                 'remove it')):
            self.check('[announce]\n' + wrong, *parts)
        self.check(
            '[DEFAULT]\nnetwork_cidr = 198.51.100.0/24\n'
            '[announce]\ninclude_cidrs = 192.0.2.0/24\n',
            '[announce] include_cidrs = 192.0.2.0/24: ', 'network_cidr',
            'name networks within 198.51.100.0/24')

    def test_tags(self):
        self.fine(
            '[announce]\nrouter_tags = r1:4400001, the big one : 4400002\n'
            'network_tags = a:b:4499999\n')
        for wrong, *parts in (
                ('router_tags = r1\n', 'router_tags', "'r1'", 'public:44'),
                ('router_tags = :4400001\n', 'router_tags', 'write it like'),
                ('network_tags = public:5\n', 'network_tags', "'5'",
                 '4400000 to 4499999'),
                ('router_tags = r1:4400001,r2:4400001,r1:4400002\n',
                 '[announce] router_tags = ', 'r1 more than once')):
            self.check('[announce]\n' + wrong, *parts)

    def test_tables_must_differ(self):
        self.check('[fip_route]\nroute_table_id = 200\n',
                   '[veth_leak] veth_leak_table_id = 200: is [fip_route] '
                   'route_table_id too', 'choose another')
        self.fine('[fip_route]\nroute_table_id = 200\n'
                  '[veth_leak]\nveth_leak_enabled = false\n')

    def test_route_rules_come_before_the_leak_rules(self):
        priority = ('[fip_route]\nroute_table_id = 100\n'
                    'route_rule_priority = ')
        for number in 1997, 2000:
            self.check(f'{priority}{number}\n', '[fip_route] '
                       f'route_rule_priority = {number}: ',
                       'choose a lower number')
        self.fine(f'{priority}1996\n',
                  '[fip_route]\nroute_rule_priority = 1999\n')


class PairTest(base.ConfTestCase):

    def pair(self, nexthop, provider='', more=''):
        return validate.problems(self.load(
            f'[veth_leak]\nveth_nexthop = {nexthop}\n'
            f'veth_provider_ip = {provider}\n{more}'))

    def test_the_two_hosts_of_a_slash_30_in_either_order(self):
        for ends in (('169.254.0.1',), ('169.254.0.5', '169.254.0.6'),
                     ('169.254.0.2', '169.254.0.1')):
            self.assertEqual([], self.pair(*ends))

    def test_anything_else_is_refused(self):
        for nexthop, provider in (
                ('169.254.0.2', ''), ('169.254.0.0', ''), ('169.254.0.3', ''),
                ('169.254.0.1', '169.254.0.1'), ('169.254.0.1', '169.254.0.3'),
                ('169.254.0.1', '169.254.0.6'), ('255.255.255.255', '')):
            self.check_one(self.pair(nexthop, provider),
                           f'veth_nexthop = {nexthop}', '/30')

    def test_not_looked_at_without_a_pair(self):
        for more in 'veth_leak_enabled = false\n', '[frr]\nvrf_name =\n':
            self.assertEqual([], self.pair('169.254.0.2', '', more))

    def test_overlap_with_other_addresses(self):
        self.assertIn('bridge_ip', self.pair('169.254.169.253')[0])
        self.assertIn('198.51.100.0/24', self.pair(
            '198.51.100.1', '',
            '[DEFAULT]\nnetwork_cidr = 198.51.100.0/24\n')[0])

    def test_provider_address_is_computed(self):
        self.assertEqual('169.254.0.2', veth_leak.provider_ip(self.load()))
        self.assertEqual('169.254.0.1', veth_leak.provider_ip(self.load(
            '[veth_leak]\nveth_provider_ip = 169.254.0.1\n')))


class WarningsTest(base.ConfTestCase):

    def warnings(self, text='', **kwargs):
        return validate.warnings(self.load(text, **kwargs))

    def test_none(self):
        self.assertEqual([], self.warnings(
            '[DEFAULT]\nbridge_dev = br-ex\ndry_run = false\n'
            '[privsep_kernel]\nuser = x\n[oslo_reports]\nlog_dir = x\n'))

    def test_one_warning_each(self):
        """What is wrong, words of the warning, and what is right."""
        drivers = '[DEFAULT]\ndrivers = fip_route,veth_leak'
        settle = '[gateway_drain]\ndrain_settle_delay = 60\n'
        drain = f'{drivers},gateway_drain\n{settle}'
        helper = 'helper_command = sudo privsep-helper\n'
        rootwrap = ('[agent]\nroot_helper = sudo neutron-rootwrap '
                    '/etc/x.conf\n')
        for wrong, words, *right in (
                (f'{drivers}\n{ProblemsTest.FORWARDS}',
                 ['[port_forward] rules_file = /etc/rules.yaml: without the '
                  'driver port_forward nothing is forwarded'],
                 f'{drivers},port_forward\n{ProblemsTest.FORWARDS}'),
                ('[DEFAULT]\ndrivers = tenant_network,veth_leak\n',
                 ['tenant_network announces nothing without fip_route'],
                 f'{drivers},tenant_network\n'),
                ('[DEFAULT]\nreconcile_intervall = 5\n',
                 ['reconcile_intervall', 'did you mean reconcile_interval?']),
                ('[DEFAULT]\ngateway_port = lrp-1\n',
                 ['gateway_port = lrp-1'],
                 '[DEFAULT]\ngateway_port = cr-lrp-1\n'),
                ('[ovn]\nvrf_name = a\n',
                 ['unknown option vrf_name in section [ovn]']),
                ('[DEFAULT]\nexposing_method = vrf\n',
                 ['vrf is the driver evpn here']),
                ('[DEFAULT]\nexposing_method = underlay\n',
                 ['without the driver evpn']),
                ('[vethleak]\na = b\n',
                 ['unknown section [vethleak]; did you mean veth_leak?']),
                (f'[privsep]\n{helper}',
                 ['section [privsep] has no effect',
                  '[privsep_kernel], [privsep_ovs]'],
                 f'[privsep_kernel]\n{helper}'),
                (drain, ['drain_settle_delay = 60: is not shorter'],
                 f'{drivers}\n{settle}',
                 f'{drain}drain_on_shutdown = false\n',
                 f'{drain}drain_timeout = 61\n'),
                (f'{rootwrap}root_helper_daemon = sudo x-daemon\n',
                 ['[agent] root_helper_daemon = sudo x-daemon: this has no '
                  'effect', 'remove the option'], rootwrap),
                ('[DEFAULT]\ndrivers = fip_route\n', ['vrf-provider']),
                ('[veth_leak]\nveth_leak_rule_priority = 1000\n',
                 ['veth_leak_rule_priority = 1000'])):
            self.check_one(self.warnings(wrong), *words)
            for text in right:
                self.assertEqual([], self.warnings(text))


class VrfTableTest(base.ConfTestCase):

    def problems(self, text):
        vrf = links.Link(7, 'vrf-provider', '', True, 'vrf', 0, 0, '', 200)
        return list(link.needed_vrf(self.load(text), {vrf.name: vrf}))

    def test_our_tables_are_not_that_of_the_vrf(self):
        found, = self.problems('')
        self.assertIn('[veth_leak] veth_leak_table_id = 200: this is the '
                      'table of VRF vrf-provider; choose another', found)
        found, = self.problems('[fip_route]\nroute_table_id = 200\n'
                               '[veth_leak]\nveth_leak_table_id = 201\n')
        self.assertIn('[fip_route] route_table_id = 200', found)
        self.assertEqual([], self.problems(
            '[veth_leak]\nveth_leak_enabled = false\n'))

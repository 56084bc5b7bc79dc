# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Lines of VNIs, generated and read."""

import re
import unittest

from hypothesis import given
from hypothesis import strategies as st

from ovn_network_agent.frr import evpn
from ovn_network_agent.frr import evpn_steps
from ovn_network_agent.frr import output

ID = '10.0.100.11'
WANTED = evpn.Wanted(1001, 65011, ID, f'{ID}:1001',
                     ['64999:1001', '64999:7'], ['64999:1001'])
SESSIONS = """
router bgp 65011
 neighbor 10.0.100.99 remote-as 65099
 neighbor 10.0.100.99 password secret
 !
 address-family l2vpn evpn
  neighbor 10.0.100.99 activate
  advertise-all-vni
 exit-address-family
exit
!
""".split('\n')
OF_VRF = """
vrf vrf-1001
 vni 1001
exit-vrf
!
""".split('\n')
INSTANCE = """
router bgp 65011 vrf vrf-1001
 bgp router-id 10.0.100.11
 coalesce-time 44132
 timers bgp 44 132
 !
 address-family ipv4 unicast
  redistribute kernel
 exit-address-family
 !
 address-family ipv6 unicast
  redistribute kernel
 exit-address-family
 !
 address-family l2vpn evpn
  advertise ipv4 unicast
  advertise ipv6 unicast
  rd 10.0.100.11:1001
  route-target import 64999:1001
  route-target import 64999:7
  route-target export 64999:1001
 exit-address-family
exit
!
end
""".split('\n')
# As vtysh shows it, and as mgmtd, zebra and bgpd do, one after the other.
FRR_8 = ['frr version 8.4.4', *OF_VRF, *SESSIONS, *INSTANCE]
FRR_10 = ['frr version 10.3', *OF_VRF, 'vrf other', ' ip route 1.1.1.1/32 lo',
          'exit-vrf', *OF_VRF, *SESSIONS, *INSTANCE]
anything = st.one_of(
    st.none(), st.integers(), st.text(), st.ip_addresses().map(str),
    st.sampled_from((1001, ID, '1:1', f'{ID}:7', '65536:65536', '*:1',
                     '1:1\nexit', '01:1')),
    st.from_regex(r'[0-9.:]{1,20}'))
_TARGET = r'(?:[0-9]+|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+):[0-9]+'
_LINE = re.compile(
    r'(?:no )?router bgp [0-9]+ vrf vrf-[0-9]+|vrf vrf-[0-9]+|'
    r'(?:no )?vni [0-9]+|exit-vrf|exit|bgp router-id [0-9.]+|'
    'timers bgp 44 132|coalesce-time 44132|address-family '
    '(?:ipv[46] unicast|l2vpn evpn)|exit-address-family|redistribute kernel|'
    f'advertise ipv[46] unicast|(?:rd|route-target (?:im|ex)port) {_TARGET}')


def found(lines, vni=1001):
    return evpn.read(lines).get(vni, evpn.Found())


def without(*unwanted, lines=FRR_8):
    return [line for line in lines if line.strip() not in unwanted]


def changed(former, *new, lines=FRR_8):
    at = next(index for index, line in enumerate(lines)
              if line.strip() == former)
    return [*lines[:at], *new, *lines[at + 1:]]


class ReadTest(unittest.TestCase):

    def test_complete(self):
        for lines in (FRR_8, FRR_10):
            self.assertEqual(
                (WANTED._replace(imports=sorted(WANTED.imports)), True),
                evpn.value(1001, found(lines)))
            self.assertEqual(65011, evpn.underlay(lines, ''))
            self.assertEqual({1001}, set(evpn.read(lines)))

    def test_what_is_complete(self):
        """Lines that are missing, others in their place, and whether it is.

        Any mark suffices, and lines count that change what is announced.
        """
        redistribute = 'redistribute kernel'
        marks = 'coalesce-time 44132', 'timers bgp 44 132'
        for lines, complete in (
                *((without(line), False) for line in (
                    *marks, redistribute, 'advertise ipv4 unicast',
                    'advertise ipv6 unicast', 'vni 1001')),
                *((changed(redistribute, '  ' + redistribute, line), not wrong)
                  for wrong, line in (
                      (True, '  redistribute kernel route-map M'),
                      (True, '  network 10.0.0.0/8'),
                      (True, '  import vrf blue'),
                      (True, '  aggregate-address 10.0.0.0/8'),
                      (True, '  export vpn'),
                      (False, ' bgp log-neighbor-changes'),
                      (False, '  maximum-paths 4')))):
            self.assertEqual(complete, evpn.value(1001, found(lines))[1])
        self.assertIsNone(evpn.value(1001, found(without(*marks))))

    def test_the_rest(self):
        empty = without('vni 1001', lines=OF_VRF)
        for lines, complete in ((OF_VRF, False), (empty, None)):
            self.assertEqual((evpn.Wanted(1001, 0, '', '', (), ()), complete),
                             evpn.value(1001, found(lines)))
        for lines in (changed('vni 1001', ' vni 7', lines=OF_VRF),
                      changed('vni 1001', ' ip route 1.1.1.1/32 lo',
                              lines=OF_VRF)):
            self.assertIsNone(evpn.value(1001, found(lines)))

    def test_interfaces_that_are_left(self):
        one, two, three, four = (f'vrf0000000{n:d}-00' for n in range(4))
        self.assertEqual([one], evpn.left_interfaces([
            f'interface {one}', 'exit', '!', f'interface {two}',
            ' ipv6 nd ra-interval 3', 'exit', f'interface {two}', 'exit',
            f'interface {three}', 'exit', 'interface eth9', 'exit', '!'],
            {three, four, 'lo'}))

    def test_numbers(self):
        for text, number in (('65011', 65011), ('1.10', 65546), ('x', 0),
                             ('1.x', 0), ('', 0), ('.', 0)):
            self.assertEqual(number, evpn.as_number(text))


class AddedTest(unittest.TestCase):

    def test_order(self):
        steps = evpn_steps.added(WANTED, evpn.Found())
        self.assertEqual([], steps.down)
        self.assertFalse(steps.settle)
        self.assertEqual([
            'router bgp 65011 vrf vrf-1001', 'timers bgp 44 132',
            'coalesce-time 44132', f'bgp router-id {ID}',
            'address-family ipv4 unicast', 'redistribute kernel',
            'exit-address-family', 'address-family ipv6 unicast',
            'redistribute kernel', 'exit-address-family',
            'address-family l2vpn evpn', 'advertise ipv4 unicast',
            'advertise ipv6 unicast', f'rd {ID}:1001',
            'route-target import 64999:1001', 'route-target import 64999:7',
            'route-target export 64999:1001', 'exit-address-family',
            'exit'], steps.change)
        self.assertEqual(['vrf vrf-1001', 'vni 1001', 'exit-vrf'], steps.up)

    def test_nothing_to_do(self):
        self.assertEqual(evpn_steps.Steps([], [], []),
                         evpn_steps.added(WANTED, found(FRR_8)))

    def test_a_route_map_goes(self):
        steps = evpn_steps.added(WANTED, found(changed(
            'redistribute kernel', '  redistribute kernel route-map M')))
        self.assertEqual(evpn_steps.Steps([], [
            'router bgp 65011 vrf vrf-1001', 'address-family ipv4 unicast',
            'no redistribute kernel route-map M', 'redistribute kernel',
            'exit-address-family', 'exit'], []), steps)

    def test_what_does_not_change_while_the_vni_is_up(self):
        for wanted in (WANTED._replace(rd='1:1'), WANTED._replace(imports=[]),
                       WANTED._replace(exports=['1:1']),
                       WANTED._replace(asn=65012),
                       WANTED._replace(router_id='10.0.100.12')):
            steps = evpn_steps.added(wanted, found(FRR_8))
            self.assertEqual(['vrf vrf-1001', 'no vni 1001', 'exit-vrf'],
                             steps.down)
            self.assertTrue(steps.settle)
            self.assertEqual('vni 1001', steps.up[1])

    def test_a_vni_without_its_instance(self):
        """With the instance last, its neighbours may be missing for good."""
        steps = evpn_steps.added(WANTED, found(OF_VRF))
        self.assertEqual('no vni 1001', steps.down[1])
        self.assertTrue(steps.settle)
        self.assertEqual('vni 1001', steps.up[1])

    def test_others(self):
        foreign = without('coalesce-time 44132', 'timers bgp 44 132')
        for lines, parts in (
                (foreign, ('"router bgp 65011 vrf vrf-1001"',
                           '"no router bgp 65011 vrf vrf-1001"')),
                (changed('vni 1001', ' vni 7'),
                 ('"vni 7" in "vrf vrf-1001"', '"no vni 7"')),
                (['vrf blue', ' vni 1001'],
                 ('"vni 1001" in "vrf blue"', '"no vni 1001"'))):
            with self.assertRaises(ValueError) as caught:
                evpn_steps.added(WANTED, found(lines))
            for part in parts:
                self.assertIn(part, str(caught.exception))

    @given(st.tuples(*[anything] * 4, *[st.lists(anything, max_size=2)] * 2))
    def test_clean_lines_or_none(self, fields):
        try:
            steps = evpn_steps.added(evpn.Wanted(*fields), evpn.Found())
        except ValueError:
            return
        for line in (*steps.down, *steps.change, *steps.up):
            self.assertTrue(_LINE.fullmatch(line), line)


class RemovedTest(unittest.TestCase):

    def test_order(self):
        down = ['vrf vrf-1001', 'no vni 1001', 'exit-vrf']
        change = ['no router bgp 65011 vrf vrf-1001']
        for lines, *steps in (
                (FRR_8, down, change, []), (FRR_10, down, change, []),
                # FRR 10 shows an empty section until it goes, too.
                (without('vni 1001', lines=OF_VRF), [], [],
                 ['no vrf vrf-1001']),
                # The VNI of somebody else stays, and all that is of others.
                (changed('vni 1001', ' vni 7'), [], change, []),
                (without('coalesce-time 44132', 'timers bgp 44 132'),
                 [], [], []),
                (changed('vni 1001', ' vni 7', lines=OF_VRF), [], [], []),
                (SESSIONS, [], [], [])):
            self.assertEqual(evpn_steps.Steps(*steps),
                             evpn_steps.removed(1001, found(lines)))


class OperatorTest(unittest.TestCase):

    def lacks(self, *unwanted):
        return evpn.lacks(without(*unwanted, lines=SESSIONS), '')

    def test_lines(self):
        begin = '"router bgp 65011" / "address-family l2vpn evpn" / '
        self.assertEqual([], self.lacks())
        self.assertIn(begin + '"advertise-all-vni"',
                      *self.lacks('advertise-all-vni'))
        self.assertIn(begin + '"neighbor ADDRESS activate"',
                      *self.lacks('neighbor 10.0.100.99 activate'))
        self.assertEqual(2, len(self.lacks(
            'address-family l2vpn evpn', 'advertise-all-vni',
            'neighbor 10.0.100.99 activate')))
        self.assertIn('"router bgp ASN vrf blue"',
                      *evpn.lacks(SESSIONS, 'blue'))


class StateTest(unittest.TestCase):

    def test_states(self):
        self.assertEqual(
            [evpn.State(1001, 'vrf-1001', True, '06:6f:00:00:00:01')],
            evpn.states('{"vrfs": [{"vrf": "vrf-1001", "vni": 1001, '
                        '"vxlanIntf": "vxlan-1001", "sviIntf": "br-1001", '
                        '"state": "Up", "routerMac": "06:6f:00:00:00:01"}]}'))
        self.assertEqual([], evpn.states('{}'))
        for text in ('{"vrfs": [{}]}', '{"vrfs": 5}', 'no', '{"vrfs": [1]}'):
            with self.assertRaises(output.Unreadable):
                evpn.states(text)

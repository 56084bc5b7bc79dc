# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What FRR 8.4.4 says of VNIs, as it was captured; shorter, fewer lines."""

from oslotest import base

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.readers import evpn
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.frr import output

# Of "show bgp l2vpn evpn vni json".
VNIS = '''\
{"advertiseGatewayMacip":"Disabled", "advertiseAllVnis":"Enabled",
 "numVnis":1, "numL2Vnis":0, "numL3Vnis":1,
 "1001":{"vni":1001, "type":"L3", "inKernel":"True",
         "originatorIp":"192.0.2.11", "rd":"192.0.2.11:1001",
         "rmac":"06:6f:00:00:00:01",
         "importRTs":["64999:1001"], "exportRTs":["64999:1001"]}}
'''
# Of "show bgp l2vpn evpn route rd 192.0.2.11:1001 type prefix json".
ROUTES = '''\
{"192.0.2.11:1001":{
   "rd":"192.0.2.11:1001",
   "[5]:[0]:[32]:[192.168.50.11]":{
     "rd":"192.0.2.11:1001", "routeType":5, "ethTag":0, "ipLen":32,
     "ip":"192.168.50.11",
     "advertisedTo":{"172.31.1.1":{"hostname":"spine"}}, "paths":[]},
   "[5]:[0]:[128]:[fd53::1]":{
     "rd":"192.0.2.11:1001", "routeType":5, "ethTag":0, "ipLen":128,
     "ip":"fd53::1", "paths":[]}},
 "numPrefix":2, "numPaths":2}
'''
# Of "show bgp vrf vrf-provider l2vpn evpn summary json".
SUMMARY = '''\
{"routerId":"172.31.1.2", "as":65101, "vrfName":"vrf-provider",
 "peers":{"172.31.1.1":{
   "hostname":"spine", "remoteAs":65000, "pfxRcd":5, "pfxSnt":8,
   "state":"Established", "idType":"ipv4"}},
 "failedPeers":0}
'''


class TextsTest(base.BaseTestCase):

    def read(self, function, text):
        with frr.Parsing():
            return function(output.json_documents(text))

    def test_texts(self):
        for function, text, wanted in (
                (evpn.rds, VNIS, {1001: '192.0.2.11:1001'}),
                # Without advertise-all-vni.
                (evpn.rds, '', {}),
                (evpn.rds, VNIS.replace('"True"', '"False"'), {}),
                (evpn.routes, ROUTES, {'192.168.50.11/32': ('172.31.1.1',),
                                       'fd53::1/128': ()}),
                (evpn.routes, '{}', {}),
                (evpn.sessions, SUMMARY,
                 (evpn.Session('172.31.1.1', 'Established', 5, 8),)),
                # Without a neighbour that is activated.
                (evpn.sessions, '{}', ())):
            self.assertEqual(wanted, self.read(function, text))

    def test_another_format(self):
        for function in evpn.rds, evpn.routes, evpn.sessions:
            self.assertRaises(readers.Unread, self.read, function,
                              '{"a": {"b": {}}, "peers": []}')

    def test_a_route_distinguisher_is_checked(self):
        """It becomes a part of a command."""
        for text in '', 'all', '1:1 json', '192.0.2.11:65536':
            self.assertRaises(readers.Unread, evpn.read_routes, text)

# Completion of fish for ovn-network-agent-ctl, made by "tools/completion.py --write".

# Custom Preamble
function _ovn_network_agent_addresses
  ovn-network-agent-ctl addresses --json 2>/dev/null | sed -n 's/^ *"address": "\([0-9a-f.:][0-9a-f.:]*\)",*$/\1/p' | sort -u
end

function _ovn_network_agent_routers
  ovn-network-agent-ctl addresses --json 2>/dev/null | sed -n 's/^ *"router_name": "\([A-Za-z0-9._-][A-Za-z0-9._-]*\)",*$/\1/p' | sort -u
end

# End Custom Preamble

# Parse current commandline:
# - _shtab_ovn_network_agent_ctl_cmdpath=(sub)command path seen so far
# - _shtab_ovn_network_agent_ctl_npos=number of positional arguments given after it
# - options are skipped based on _shtab_ovn_network_agent_ctl_opts_with_value & _shtab_ovn_network_agent_ctl_commands lists
function _shtab_ovn_network_agent_ctl_scan
  set -g _shtab_ovn_network_agent_ctl_cmdpath ''
  set -g _shtab_ovn_network_agent_ctl_npos 0
  set -l tokens (commandline -opc)
  set -e tokens[1]
  set -l expect_value 0
  for t in $tokens
    if test $expect_value -eq 1
      set expect_value 0
      continue
    end
    switch "$t"
      case '--*=*'
        continue
      case '-*'
        if contains -- $t $_shtab_ovn_network_agent_ctl_opts_with_value
          set expect_value 1
        end
        continue
      case '*'
        if test $_shtab_ovn_network_agent_ctl_npos -eq 0
          set -l candidate $t
          if test -n "$_shtab_ovn_network_agent_ctl_cmdpath"
            set candidate "$_shtab_ovn_network_agent_ctl_cmdpath $t"
          end
          if contains -- $candidate $_shtab_ovn_network_agent_ctl_commands
            set -g _shtab_ovn_network_agent_ctl_cmdpath $candidate
            continue
          end
        end
        set -g _shtab_ovn_network_agent_ctl_npos (math $_shtab_ovn_network_agent_ctl_npos + 1)
    end
  end
end

# Condition helper: true if the current (sub)command path equals the given one.
function _shtab_ovn_network_agent_ctl_using
  _shtab_ovn_network_agent_ctl_scan
  test "$_shtab_ovn_network_agent_ctl_cmdpath" = "$argv"
end

set -g _shtab_ovn_network_agent_ctl_commands doctor explain drain undrain status health addresses fips fleet peers peer egress plan resync reload log-level announce-method report cleanup
set -g _shtab_ovn_network_agent_ctl_opts_with_value --client --config-dir --config-file --for --html --logger --router --socket --state --timeout --vni --watch

complete -c ovn-network-agent-ctl -e
complete -c ovn-network-agent-ctl -f

complete -c ovn-network-agent-ctl -n _shtab_ovn_network_agent_ctl_using -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n _shtab_ovn_network_agent_ctl_using -l version -d 'show the version of the program, and exit'
complete -c ovn-network-agent-ctl -n _shtab_ovn_network_agent_ctl_using -l socket -xka "(__fish_complete_path (commandline -ct))" -d 'control socket of the agent; default: [DEFAULT] control_socket of its configuration, or /run/ovn-network-agent/control.ctl'
complete -c ovn-network-agent-ctl -n _shtab_ovn_network_agent_ctl_using -l config-file -xka "(__fish_complete_path (commandline -ct))" -d 'configuration of the agent, as for the agent itself'
complete -c ovn-network-agent-ctl -n _shtab_ovn_network_agent_ctl_using -l config-dir -xka "(__fish_complete_path (commandline -ct))" -d 'configuration of the agent, as for the agent itself'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a doctor -d 'Check this node; works without an agent, needs root, changes nothing.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using doctor' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using doctor' -l all -d 'show each check, in the order of a repair'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using doctor' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using doctor' -l list -d 'name the checks, and check nothing'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using doctor; and test $_shtab_ovn_network_agent_ctl_npos -ge 0' -ka "configuration tls-files file-access prerequisites versions single-agent original-program agent drain privileges helper-commands provider-bridge bridge-ports bridge-address vrf uplink ip-forward rp-filter proxy-arp ipv6-forward routing-tables rule-priorities l3mdev-rule vrf-default-route default-route-ipv6 network-managers frr-daemons frr-vrf bgp-instance bgp-redistribution redistribution-ipv6 bgp-filter bgp-filter-ipv6 prefix-list prefix-list-ipv6 bgp-sessions bgp-sessions-ipv6 announce-method ovs-database nb-database sb-database ovn-controller chassis gateway-chassis bridge-mappings gateway-priorities patch-ports northbound-routes ipv6-routers provider-machines tenant-networks peerings egress egress-probe duplicate-addresses withheld-addresses advertised-routes route-tags power-failure bgp-hold-time local-destinations ct-zone outbound-filters outbound-ipv6 bgp-next-hops dropping-flows packet-filters rule-order mtu neighbour-tables evpn-local evpn-mtu evpn-instance evpn-sessions evpn-vnis evpn-next-hops objects" -d 'only these checks; default: all'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a explain -d 'Find out why an address is not reachable, layer by layer.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using explain' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using explain' -l client -x -d 'address outside that cannot reach ADDRESS, for the way back; without this option 192.0.2.1, or 2001:db8::1 for IPv6'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using explain' -l vni -x -d 'only the machine on a network with this VNI; 0: only what has ADDRESS outside of VNIs'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using explain' -l trace -d 'also what OVN and Open vSwitch would do with a packet, one line each; reads the whole Southbound database'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using explain' -l verbose -d 'with --trace: also the whole text of each trace'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using explain' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using explain; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -ka "(_ovn_network_agent_addresses)" -d 'floating IP, SNAT or router address, VIP, address of a machine on a provider network, or a network of a tenant or an address in it'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a drain -d 'Move the gateway ports to other nodes, and keep them there.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using drain' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using drain' -l force -d 'also where no other candidate is ready; such gateway ports move when one is'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using drain' -l router -xka "(_ovn_network_agent_routers)" -d 'only this router: its UUID or its name, in Neutron or in OVN; may be given several times; default: all'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using drain' -l wait -d 'wait until this is carried out'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using drain' -l timeout -x -d 'for --wait, 300 by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a undrain -d 'End a drain; no gateway port moves back by itself.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using undrain' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using undrain' -l router -xka "(_ovn_network_agent_routers)" -d 'only this router: its UUID or its name, in Neutron or in OVN; may be given several times; default: all'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using undrain' -l wait -d 'wait until this is carried out'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using undrain' -l timeout -x -d 'for --wait, 300 by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a status -d 'State of the agent, its addresses, BGP sessions and gateways; "announced" does not mean reachable, see "explain".'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using status' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using status' -l verbose -d 'also backends, passes, repairs, and the candidates of each gateway'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using status' -l watch -x -d 'repeat, every 2 seconds by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using status' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a health -d 'Show whether the agent is ready. Only the agent is asked.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using health' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using health' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using health' -l timeout -x -d 'for the answer of the agent, 5 by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a addresses -d 'Each address of this node: its state, since when, and why; "announced" does not mean reachable, see "explain".'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using addresses' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using addresses' -l router -xka "(_ovn_network_agent_routers)" -d 'only addresses of this router: its UUID or its name, in Neutron or in OVN'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using addresses' -l state -xka "announced wanted waiting failed held withdrawing forwarded omitted" -d 'only addresses in this state'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using addresses' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using addresses' -l watch -x -d 'repeat, every 2 seconds by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using addresses; and test $_shtab_ovn_network_agent_ctl_npos -ge 0' -ka "(_ovn_network_agent_addresses)" -d 'only these addresses or prefixes, with their resources'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a fips -d 'Each address of this node: its state, since when, and why; "announced" does not mean reachable, see "explain".'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using fips' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using fips' -l router -xka "(_ovn_network_agent_routers)" -d 'only addresses of this router: its UUID or its name, in Neutron or in OVN'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using fips' -l state -xka "announced wanted waiting failed held withdrawing forwarded omitted" -d 'only addresses in this state'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using fips' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using fips' -l watch -x -d 'repeat, every 2 seconds by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using fips; and test $_shtab_ovn_network_agent_ctl_npos -ge 0' -ka "(_ovn_network_agent_addresses)" -d 'only these addresses or prefixes, with their resources'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a fleet -d 'All gateways of the cloud, their routers and the next owners; asks OVN, needs no agent.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using fleet' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using fleet' -l html -xka "(__fish_complete_path (commandline -ct))" -d 'write a web page, which loads nothing from elsewhere'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using fleet' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using fleet' -l watch -x -d 'repeat, every 2 seconds by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using fleet' -l timeout -x -d 'for the answer of each database, 30 by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a peers -d 'Peerings of routers inside OVN: each intent, its state, and why.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using peers' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using peers' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a peer -d 'Add or remove a peering at one router; both routers have to name each other.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using peer' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using peer' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using peer; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -ka "add remove" -d 'write or remove the intent'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using peer; and test $_shtab_ovn_network_agent_ctl_npos -eq 1' -ka "(_ovn_network_agent_routers)" -d 'its UUID or its name, in Neutron or in OVN'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a egress -d 'Egress addresses, with their routers or nodes and their machines.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using egress' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using egress' -l machines -d 'also each machine, and why it does not use the address'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using egress' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a plan -d 'Read all systems again, and show what the running agent would change. Nothing is changed.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using plan' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using plan' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a resync -d 'Read and repair backends at once.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using resync' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using resync' -l force -d 'withdraw the addresses that the withdrawal guard holds'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using resync' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using resync' -l timeout -x -d 'to wait for the result, 60 by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using resync; and test $_shtab_ovn_network_agent_ctl_npos -ge 0' -ka "address advertised bfd_timers egress egress_networks egress_nft evpn_instance flow frr_prefix_list frr_static gateway_priority link neighbour neighbour_proxy nftables northbound overlap peering relay_port route router_advertisement rule stale_route sysctl vni_devices vni_port" -d 'a name of "status"; default: all'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a reload -d 'Read the configuration files and the rules file again, as SIGHUP does, and print what has changed and what waits for a restart. With a mistake in one of the files, nothing changes.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using reload' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using reload' -l wait -d 'wait for a complete pass with the new values'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using reload' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using reload' -l timeout -x -d 'for the answer, and for --wait, 60 by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a log-level -d 'Show or set the log level of the running agent. A set level lasts until the next reload, or for the given time.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using log-level' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using log-level' -l logger -x -d 'only this logger and those below, by the name in the log; default: all'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using log-level' -l for -x -d 'set the former level again after this time; default: at the next reload'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using log-level' -l json -d 'print JSON; the keys are documented'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using log-level; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -ka "debug info warn error" -d 'debug, info, warn or error; without a level the command shows the present level'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a announce-method -d 'Change [fip_route] announce_method of the running agent. The command first checks whether FRR is prepared for the method, and whether the configuration files of the agent name it; the command changes neither FRR nor a file, and prints the lines that are missing. Then the command reloads the agent, asks FRR until the new method alone announces every address, and names the addresses that were not announced meanwhile.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using announce-method' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using announce-method' -l check -d 'only check, and reload nothing'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using announce-method' -l timeout -x -d 'for the reload, and for the proof, 60 by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using announce-method; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -ka "static kernel" -d 'the new method'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a report -d 'Write versions, the configuration in effect, the state of the agent, the stacks of its threads and the last lines of its log into one JSON file. Passwords are left out, and the content of keys; read the file before you give it away. Without an agent, the file has the versions and the configuration.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using report' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using report' -l timeout -x -d 'for each answer of the agent, 60 by default'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using report; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -ka "(__fish_complete_path (commandline -ct))" -d 'a new file, which only its owner can read; "-" is standard output; without it, a file in this directory with the name of the host and the time'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using; and test $_shtab_ovn_network_agent_ctl_npos -eq 0' -a cleanup -d 'Remove all objects of an agent that no longer runs from this node, and its rows from OVN.'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using cleanup' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using cleanup' -l dry-run -d 'only show what would be removed'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using cleanup' -l last -d 'on the last gateway of the cloud: also remove the rows of peerings and of egress addresses, and restore lowered priorities'
complete -c ovn-network-agent-ctl -n '_shtab_ovn_network_agent_ctl_using cleanup' -l without-ovn -d 'go on where OVN cannot be reached; the rows in OVN stay'

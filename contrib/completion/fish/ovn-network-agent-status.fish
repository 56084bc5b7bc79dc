# Completion of fish for ovn-network-agent-status, made by "tools/completion.py --write".

# Parse current commandline:
# - _shtab_ovn_network_agent_status_cmdpath=(sub)command path seen so far
# - _shtab_ovn_network_agent_status_npos=number of positional arguments given after it
# - options are skipped based on _shtab_ovn_network_agent_status_opts_with_value & _shtab_ovn_network_agent_status_commands lists
function _shtab_ovn_network_agent_status_scan
  set -g _shtab_ovn_network_agent_status_cmdpath ''
  set -g _shtab_ovn_network_agent_status_npos 0
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
        if contains -- $t $_shtab_ovn_network_agent_status_opts_with_value
          set expect_value 1
        end
        continue
      case '*'
        if test $_shtab_ovn_network_agent_status_npos -eq 0
          set -l candidate $t
          if test -n "$_shtab_ovn_network_agent_status_cmdpath"
            set candidate "$_shtab_ovn_network_agent_status_cmdpath $t"
          end
          if contains -- $candidate $_shtab_ovn_network_agent_status_commands
            set -g _shtab_ovn_network_agent_status_cmdpath $candidate
            continue
          end
        end
        set -g _shtab_ovn_network_agent_status_npos (math $_shtab_ovn_network_agent_status_npos + 1)
    end
  end
end

# Condition helper: true if the current (sub)command path equals the given one.
function _shtab_ovn_network_agent_status_using
  _shtab_ovn_network_agent_status_scan
  test "$_shtab_ovn_network_agent_status_cmdpath" = "$argv"
end

set -g _shtab_ovn_network_agent_status_commands upgrade
set -g _shtab_ovn_network_agent_status_opts_with_value --config-dir --config-file

complete -c ovn-network-agent-status -e
complete -c ovn-network-agent-status -f

complete -c ovn-network-agent-status -n _shtab_ovn_network_agent_status_using -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-status -n _shtab_ovn_network_agent_status_using -l config-file -xka "(__fish_complete_path (commandline -ct))" -d 'configuration of the agent'
complete -c ovn-network-agent-status -n _shtab_ovn_network_agent_status_using -l config-dir -xka "(__fish_complete_path (commandline -ct))" -d 'configuration of the agent'
complete -c ovn-network-agent-status -n '_shtab_ovn_network_agent_status_using; and test $_shtab_ovn_network_agent_status_npos -eq 0' -a upgrade -d 'whether the node is ready for an upgrade'
complete -c ovn-network-agent-status -n '_shtab_ovn_network_agent_status_using upgrade' -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-status -n '_shtab_ovn_network_agent_status_using upgrade' -l json -d 'for programs'
complete -c ovn-network-agent-status -n '_shtab_ovn_network_agent_status_using upgrade; and test $_shtab_ovn_network_agent_status_npos -eq 0' -ka "check" -d action

# Completion of fish for ovn-network-agent-migrate, made by "tools/completion.py --write".

# Parse current commandline:
# - _shtab_ovn_network_agent_migrate_cmdpath=(sub)command path seen so far
# - _shtab_ovn_network_agent_migrate_npos=number of positional arguments given after it
# - options are skipped based on _shtab_ovn_network_agent_migrate_opts_with_value & _shtab_ovn_network_agent_migrate_commands lists
function _shtab_ovn_network_agent_migrate_scan
  set -g _shtab_ovn_network_agent_migrate_cmdpath ''
  set -g _shtab_ovn_network_agent_migrate_npos 0
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
        if contains -- $t $_shtab_ovn_network_agent_migrate_opts_with_value
          set expect_value 1
        end
        continue
      case '*'
        if test $_shtab_ovn_network_agent_migrate_npos -eq 0
          set -l candidate $t
          if test -n "$_shtab_ovn_network_agent_migrate_cmdpath"
            set candidate "$_shtab_ovn_network_agent_migrate_cmdpath $t"
          end
          if contains -- $candidate $_shtab_ovn_network_agent_migrate_commands
            set -g _shtab_ovn_network_agent_migrate_cmdpath $candidate
            continue
          end
        end
        set -g _shtab_ovn_network_agent_migrate_npos (math $_shtab_ovn_network_agent_migrate_npos + 1)
    end
  end
end

# Condition helper: true if the current (sub)command path equals the given one.
function _shtab_ovn_network_agent_migrate_using
  _shtab_ovn_network_agent_migrate_scan
  test "$_shtab_ovn_network_agent_migrate_cmdpath" = "$argv"
end

set -g _shtab_ovn_network_agent_migrate_commands 
set -g _shtab_ovn_network_agent_migrate_opts_with_value --config --environment-file --output --rules-file

complete -c ovn-network-agent-migrate -e
complete -c ovn-network-agent-migrate -f

complete -c ovn-network-agent-migrate -n _shtab_ovn_network_agent_migrate_using -s h -l help -d 'show this help message and exit'
complete -c ovn-network-agent-migrate -n _shtab_ovn_network_agent_migrate_using -l version -d 'show the version of the program, and exit'
complete -c ovn-network-agent-migrate -n _shtab_ovn_network_agent_migrate_using -l config -xka "(__fish_complete_path (commandline -ct))" -d 'YAML file of the original'
complete -c ovn-network-agent-migrate -n _shtab_ovn_network_agent_migrate_using -l environment-file -xka "(__fish_complete_path (commandline -ct))" -d 'file with variables OVN_NETWORK_... of the original'
complete -c ovn-network-agent-migrate -n _shtab_ovn_network_agent_migrate_using -l output -xka "(__fish_complete_directories)" -d 'directory that gets the files; without this option they go to standard output'
complete -c ovn-network-agent-migrate -n _shtab_ovn_network_agent_migrate_using -l rules-file -xka "(__fish_complete_path (commandline -ct))" -d 'path of the file of port forwards; default: port-forwards.yaml in the directory of --output, or in /etc/ovn-network-agent'
complete -c ovn-network-agent-migrate -n _shtab_ovn_network_agent_migrate_using -l force -d 'replace files that are there'

# Completion of fish for ovn-network-agent, made by "tools/completion.py --write".

# Parse current commandline:
# - _shtab_ovn_network_agent_cmdpath=(sub)command path seen so far
# - _shtab_ovn_network_agent_npos=number of positional arguments given after it
# - options are skipped based on _shtab_ovn_network_agent_opts_with_value & _shtab_ovn_network_agent_commands lists
function _shtab_ovn_network_agent_scan
  set -g _shtab_ovn_network_agent_cmdpath ''
  set -g _shtab_ovn_network_agent_npos 0
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
        if contains -- $t $_shtab_ovn_network_agent_opts_with_value
          set expect_value 1
        end
        continue
      case '*'
        if test $_shtab_ovn_network_agent_npos -eq 0
          set -l candidate $t
          if test -n "$_shtab_ovn_network_agent_cmdpath"
            set candidate "$_shtab_ovn_network_agent_cmdpath $t"
          end
          if contains -- $candidate $_shtab_ovn_network_agent_commands
            set -g _shtab_ovn_network_agent_cmdpath $candidate
            continue
          end
        end
        set -g _shtab_ovn_network_agent_npos (math $_shtab_ovn_network_agent_npos + 1)
    end
  end
end

# Condition helper: true if the current (sub)command path equals the given one.
function _shtab_ovn_network_agent_using
  _shtab_ovn_network_agent_scan
  test "$_shtab_ovn_network_agent_cmdpath" = "$argv"
end

set -g _shtab_ovn_network_agent_commands 
set -g _shtab_ovn_network_agent_opts_with_value --config-dir --config-file --log-config --log-config-append --log-date-format --log-dir --log-file --log_config --logdir --logfile --syslog-log-facility

complete -c ovn-network-agent -e
complete -c ovn-network-agent -f

complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l check-config -d 'Check the configuration, print all mistakes, and exit without connecting to anything.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l config-dir -xka "(__fish_complete_path (commandline -ct))" -d 'Path to a config directory to pull `*.conf` files from. This file set is sorted, so as to provide a predictable parse order if individual options are over-ridden. The set is parsed after the file(s) specified via previous --config-file, arguments hence over-ridden options in the directory take precedence. This option must be set from the command-line.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l config-file -xka "(__fish_complete_path (commandline -ct))" -d 'Path to a config file to use. Multiple config files can be specified, with values in later files taking precedence. Defaults to the first ovn-network-agent.conf in ~/.ovn-network-agent, ~, /etc/ovn-network-agent and /etc. This option must be set from the command-line.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -s d -l debug -d 'If set to true, the logging level will be set to DEBUG instead of the default INFO level.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l dry-run -d 'Only log what would be done. Nothing is written anywhere, not even in the OVN databases.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -s h -l help -d 'show the help, and exit'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l log-date-format -x -d 'Defines the format string for %(asctime)s in log records. Default: %Y-%m-%d %H:%M:%S . This option is ignored if log_config_append is set.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l log-config-append -l log-config -l log_config -xka "(__fish_complete_path (commandline -ct))" -d 'The name of a logging configuration file. This file is appended to any existing logging configuration files. For details about logging configuration files, see the Python logging module documentation. Note that when logging configuration files are used then all logging configuration is set in the configuration file and other logging configuration options are ignored (for example, log-date-format).'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l log-dir -l logdir -xka "(__fish_complete_path (commandline -ct))" -d '(Optional) The base directory used for relative log_file paths. This option is ignored if log_config_append is set.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l log-file -l logfile -xka "(__fish_complete_path (commandline -ct))" -d '(Optional) Name of log file to send logging output to. If no default is set, logging will go to stderr as defined by use_stderr. This option is ignored if log_config_append is set.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l nocheck-config -d 'the inverse of --check-config'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l nodebug -d 'the inverse of --debug'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l nodry-run -d 'the inverse of --dry-run'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l nostrict -d 'the inverse of --strict'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l nouse-journal -d 'the inverse of --use-journal'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l nouse-json -d 'the inverse of --use-json'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l nouse-syslog -d 'the inverse of --use-syslog'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l strict -d 'With --check-config: end with status 2 also for a warning, such as a misspelt option.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l syslog-log-facility -x -d 'Syslog facility to receive log lines. This option is ignored if log_config_append is set.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l use-journal -d 'Enable journald for logging. If running in a systemd environment you may wish to enable journal support. Doing so will use the journal native protocol which includes structured metadata in addition to log messages.This option is ignored if log_config_append is set.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l use-json -d 'Use JSON formatting for logging. This option is ignored if log_config_append is set.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l use-syslog -d 'Use syslog for logging. Existing syslog format is DEPRECATED and will be changed later to honor RFC5424. This option is ignored if log_config_append is set.'
complete -c ovn-network-agent -n _shtab_ovn_network_agent_using -l version -d 'show the version, and exit'

# Completion of nestline for bash. It asks the command for its help, so it knows what that one takes.
# What the help calls FILE, INPUT or OUT is completed with the names of files, DB or FOLDER with those
# of folders. For other values nothing is offered.

# Sets what the command has whose words are in `path`: its options, the commands below it, how the
# help calls its arguments, whether the last may be given several times, and the value of an option
# that has one.
_nestline_ask() {
  local line section="" head names value name
  options=() commands=() arguments=() values=() repeats=""
  while IFS= read -r line; do
    case $line in
      Positionals: | Options: | Subcommands:) section=$line ;;
      "  "[!\ ]*)
        # The words before the description: the names, the value, remarks such as REQUIRED.
        head=${line:2}
        head=${head%%  *}
        read -r names value _ <<<"$head"
        [[ $value != @(REQUIRED|...|*:) ]] || value=""
        case $section in
          Subcommands:) commands+=("$names") ;;
          Positionals:)
            arguments+=("$names")
            [[ $head != *" ..."* ]] || repeats=yes
            ;;
          Options:)
            for name in ${names//,/ }; do
              options+=("$name")
              [[ -z $value ]] || values[$name]=$value
            done
            ;;
        esac
        ;;
      [!\ ]*) section="" ;;
    esac
  done < <("${path[@]}" --help 2>/dev/null)
}

_nestline() {
  local -a path=("${COMP_WORDS[0]/#\~/$HOME}") options commands arguments
  local -A values
  local current=${COMP_WORDS[COMP_CWORD]} word option="" ended="" kind="" repeats
  local -i at given=0
  [[ $current != = ]] || current=""
  _nestline_ask
  for ((at = 1; at < COMP_CWORD; ++at)); do
    word=${COMP_WORDS[at]}
    if [[ -n $option ]]; then
      [[ $word == = ]] || option=""
    elif [[ -z $ended && $word == -- ]]; then
      ended=yes
    elif [[ -z $ended && $word == -?* ]]; then
      [[ -z ${values[$word]} ]] || option=$word
    elif [[ " ${commands[*]} " == *" $word "* ]]; then
      path+=("$word")
      _nestline_ask
    else
      given+=1
    fi
  done
  COMPREPLY=()
  if [[ -n $option ]]; then
    kind=${values[$option]}
  elif [[ -z $ended && $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${options[*]}" -- "$current")
    return
  elif ((${#commands[@]})); then
    mapfile -t COMPREPLY < <(compgen -W "${commands[*]}" -- "$current")
    return
  elif ((given < ${#arguments[@]})); then
    kind=${arguments[given]}
  elif [[ -n $repeats ]]; then
    kind=${arguments[-1]}
  fi
  case $kind in
    FILE | INPUT | OUT) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    DB | FOLDER) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
  esac
  compopt -o filenames 2>/dev/null
}
complete -F _nestline nestline

"""Writes the completion of the command's arguments for bash and for zsh.

Both know the commands, the options of each, and which option has a value. A value or an argument
that the help calls by a name in FILES is completed with the names of files, one in FOLDERS with
those of folders. For others nothing is offered.
"""

FILES = {"FILE", "INPUT", "OUT"}
FOLDERS = {"DB", "FOLDER"}

BASH = r"""# Completion of nestline for bash. Made from the help of nestline.
_nestline() {
  # By the words of a command: its options, the commands below it, the kinds of its arguments. By
  # these words and an option: the kind of the option's value.
  local -A options commands arguments values
  TABLES
  local path=nestline current=${COMP_WORDS[COMP_CWORD]} word option="" ended="" kind=""
  local -i at given=0
  [[ $current != = ]] || current=""
  for ((at = 1; at < COMP_CWORD; ++at)); do
    word=${COMP_WORDS[at]}
    if [[ -n $option ]]; then
      [[ $word == = ]] || option=""
    elif [[ -z $ended && $word == -- ]]; then
      ended=yes
    elif [[ -z $ended && $word == -?* ]]; then
      [[ -z ${values[$path $word]} ]] || option=$word
    elif [[ " ${commands[$path]} " == *" $word "* ]]; then
      path+=" $word"
    else
      given+=1
    fi
  done
  COMPREPLY=()
  if [[ -n $option ]]; then
    kind=${values[$path $option]}
  elif [[ -z $ended && $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${options[$path]}" -- "$current")
    return
  elif [[ -n ${commands[$path]} ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${commands[$path]}" -- "$current")
    return
  else
    local -a kinds
    read -ra kinds <<<"${arguments[$path]}"
    kind=${kinds[given]}
    # The last one may be given several times.
    if ((given >= ${#kinds[@]} && ${#kinds[@]})) && [[ ${kinds[-1]} == *... ]]; then
      kind=${kinds[-1]}
    fi
  fi
  case ${kind%...} in
    file) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    folder) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
  esac
  compopt -o filenames 2>/dev/null
}
complete -F _nestline nestline
"""

ZSH = r"""#compdef nestline
# Completion of nestline for zsh. Made from the help of nestline.
FUNCTIONS
_nestline "$@"
"""

ZSH_GROUP = r"""_NAME() {
  local context state state_descr line
  typeset -A opt_args
  local -a commands=(
    COMMANDS
  )
  _arguments -C \
    OPTIONS \
    '1: :->command' '*:: :->rest' && return
  case $state in
    command) _describe command commands ;;
    rest)
      case $words[1] in
        CASES
      esac ;;
  esac
}
"""


def walk(command):
    """The command and all below it."""
    yield command
    for below in command.subcommands:
        yield from walk(below)


def kind_of(name):
    """What is offered for a value."""
    return "file" if name in FILES else "folder" if name in FOLDERS else "other"


def bash(root):
    """The file for bash."""
    lines = []

    def add(table, key, words):
        if words:
            lines.append(f'{table}["{key}"]="{" ".join(words)}"')

    for command in walk(root):
        path = " ".join(command.words)
        add("options", path, [name for option in command.options for name in option.names])
        add("commands", path, [below.words[-1] for below in command.subcommands])
        add(
            "arguments",
            path,
            [
                kind_of(argument.names[0]) + ("..." if argument.repeated else "")
                for argument in command.arguments
            ],
        )
        for option in command.options:
            for name in option.names if option.value else []:
                add("values", f"{path} {name}", [kind_of(option.value)])
    return BASH.replace("TABLES", "\n  ".join(lines))


def quoted(text):
    """A word of the shell that means the text."""
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_text(text):
    """Text in a specification of _arguments."""
    for special in "\\]:":
        text = text.replace(special, "\\" + special)
    return text


def zsh_value(name):
    # Without an action, zsh would show a message beside the options and complete neither.
    action = {"file": "_files", "folder": "_files -/", "other": "()"}[kind_of(name)]
    return f":{zsh_text(name)}:{action}"


def zsh_options(command):
    lines = []
    for option in command.options:
        value = zsh_value(option.value) if option.value else ""
        others = "" if "--server" in option.names else f"({' '.join(option.names)})"
        for name in option.names:
            lines.append(quoted(f"{others or '*'}{name}[{zsh_text(option.description)}]{value}"))
    return lines


def zsh(root):
    """The file for zsh."""
    functions = []
    for command in walk(root):
        name = "_".join(command.words)
        if command.subcommands:
            commands = [
                quoted(below.words[-1] + ":" + zsh_text(below.description))
                for below in command.subcommands
            ]
            cases = [
                f"{below.words[-1]}) _{'_'.join(below.words)} ;;" for below in command.subcommands
            ]
            text = ZSH_GROUP.replace("NAME", name).replace("COMMANDS", "\n    ".join(commands))
            text = text.replace("CASES", "\n        ".join(cases))
            text = text.replace("OPTIONS", " \\\n    ".join(zsh_options(command)))
        else:
            specifications = zsh_options(command)
            specifications += [
                quoted(("*" if argument.repeated else "") + zsh_value(argument.names[0]))
                for argument in command.arguments
            ]
            text = (
                f"_{name}() {{\n  _arguments -S \\\n    "
                + " \\\n    ".join(specifications)
                + "\n}\n"
            )
        functions.append(text)
    return ZSH.replace("FUNCTIONS", "\n" + "\n".join(functions))

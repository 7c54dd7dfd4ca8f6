"""Writes manual pages: one for the command, one for each of its groups, one for each command.

  man_page.py VERSION FOLDER EXAMPLES PROGRAM...

The pages, FOLDER/*.1, say what the help of the program says, so no list of options stands in two
places, and have the lines of the scripts EXAMPLES/*.sh, which tests run, that are about their
command. PROGRAM may be several words: an emulator and the command. A failure leaves a message and
status 1.

A page shows the commands of its level in full, so that one page can be searched for all of them. A
group has a page of its own, to which the page above it points. A command has one too, under the
name that a user tries first: nestline-uniq, nestline-store-get. The text and its paragraphs are those of the
help; lines are filled anew, but for those that are indented.
"""

import pathlib
import re
import sys

import help_tree

EXAMPLE = re.compile(r"(?!#)(.*?\bnestline [^#]*?)(?: +# (.*))?")


def roff(text):
    """Text in which roff sees nothing special."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga")
    return "\\&" + text if text.startswith((".", "\\(aq")) else text


def bold(text):
    return f"\\fB{roff(text)}\\fR"


def italic(text):
    return f"\\fI{roff(text)}\\fR"


def usage_line(command):
    """The line of the synopsis, words of the command in bold and values in italics."""
    words = [bold(" ".join(command.words))]
    for word in command.usage.split():
        name = re.fullmatch(r"(\W*)(\w+)(\W*)", word)
        words.append(f"{roff(name[1])}{italic(name[2])}{roff(name[3])}" if name else roff(word))
    return " ".join(words)


def notes(command):
    lines = []
    for note in command.notes:
        lines.append(".PP")
        for line in note:
            if line.startswith(" "):
                lines += [".br", roff(line)]
            else:
                lines.append(roff(line))
    return lines


def entries(given):
    """A list of arguments or options."""
    lines = []
    for entry in given:
        is_option = entry.names[0].startswith("-")
        head = ", ".join(bold(name) if is_option else italic(name) for name in entry.names)
        if entry.value:
            head += " " + italic(entry.value)
        if entry.repeated:
            head += " ..."
        description = roff(entry.description)
        if entry.required and is_option:
            description += ". Must be given"
        if entry.excludes:
            excluded = " or ".join(bold(name) for name in entry.excludes.split(" "))
            description += f". Not together with {excluded}"
        lines += [".TP", head, description + "."]
    return lines


def whole(command):
    """A command with all that its help says, as a part of the page of its group."""
    lines = [
        f".SS {roff(' '.join(command.words[1:]))}",
        roff(command.description) + ".",
        ".PP",
        usage_line(command),
    ]
    lines += entries(command.arguments)
    lines += entries([option for option in command.options if "--help" not in option.names])
    return lines + notes(command)


def examples_in(scripts):
    """The lines of scripts that call the command, as pairs: the line, and the comment behind it."""
    lines = [line for script in scripts for line in script.read_text("utf-8").splitlines()]
    return [found.groups() for line in lines if (found := EXAMPLE.fullmatch(line))]


def examples_of(command, examples):
    """Those of a command, or of the commands just below it."""
    ends = [below for below in command.subcommands if not below.subcommands] or [command]
    calls = tuple(" ".join(end.words) + " " for end in ends)
    lines = []
    for line, comment in examples:
        if any(call in line for call in calls):
            lines += [*([roff(f"# {comment}")] if comment else []), roff(line)]
    return [".SH EXAMPLES", ".EX", *lines, ".EE"] if lines else []


def page(command, version, examples, parent=None):
    """The pages of a command and of all below it: {name of the file: text}."""
    name = "-".join(command.words)
    groups = [below for below in command.subcommands if below.subcommands]
    summary = command.description.split(". ")[0].removesuffix(".")
    lines = [
        f'.TH {name.upper()} 1 "" "nestline {version}" "User Commands"',
        ".SH NAME",
        f"{roff(name)} \\- {roff(summary[0].lower() + summary[1:])}",
        ".SH SYNOPSIS",
        usage_line(command),
        ".SH DESCRIPTION",
        roff(command.description.removesuffix(".")) + ".",
        *notes(command),
        ".SH OPTIONS",
        *entries(command.arguments),
        *entries(command.options),
        *([".SH COMMANDS"] if command.subcommands else []),
    ]
    for below in command.subcommands:
        if not below.subcommands:
            lines += whole(below)
            continue
        lines += [
            f".SS {roff(' '.join(below.words[1:]))}",
            roff(below.description) + ".",
            "See",
            bold("-".join(below.words)) + "(1).",
        ]
    lines += examples_of(command, examples)
    others = [bold("-".join(other.words)) + "(1)" for other in ([parent] if parent else groups)]
    if others:
        lines += [".SH SEE ALSO", ",\n".join(others)]
    pages = {name + ".1": "\n".join(lines) + "\n"}
    for below in command.subcommands:
        pages.update(page(below, version, examples, parent=command))
    return pages


def main():
    version, folder, examples, *program = sys.argv[1:]
    try:
        root = help_tree.read(program, ["nestline"])
    except help_tree.HelpError as error:
        sys.exit(f"man_page.py: {error}")
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    pages = page(root, version, examples_in(sorted(pathlib.Path(examples).glob("*.sh"))))
    for name, text in pages.items():
        pathlib.Path(folder, name).write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()

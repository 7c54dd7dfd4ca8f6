"""Reads the help texts of the command and makes a tree of commands of them.

The help is the only source of what the command takes. A text has a description, a line "Usage:",
then sections that a title with a colon begins ("Options:"), then free text. An entry of a section
begins two columns in: its name, and after two blanks or on the next line its description. Lines of
the description are further in. A text that looks different ends the build with an error that shows
it.
"""

import dataclasses
import re
import subprocess

# The longest line of free text.
COLUMNS = 92
SECTIONS = ("Positionals", "Options", "Subcommands")
# Words of CLI11 after the name of an entry.
REMARKS = re.compile(r" (REQUIRED|\.\.\.|(Excludes|Needs): \S+( --?[\w-]+)*)")


@dataclasses.dataclass
class Entry:
    """One option, argument or subcommand."""

    names: list  # ["-h", "--help"], ["INPUT"]
    value: str  # how the help calls the value of an option; empty: it has none
    description: str
    required: bool = False
    repeated: bool = False
    excludes: str = ""


@dataclasses.dataclass
class Command:
    """One command with everything that its help says."""

    words: list  # ["nestline", "store", "put"]
    description: str
    usage: str  # without the words
    arguments: list
    options: list
    subcommands: list  # of Command
    notes: list  # paragraphs; a paragraph is a list of lines


class HelpError(Exception):
    """The help is not of the form that this program reads."""


def entry_of(head, description):
    """The Entry of a name as the help has it, such as "--fpr P Excludes: --bits"."""
    excludes = re.search(r" Excludes: (.*)$", head)
    name = REMARKS.sub("", head)
    words = name.split(" ")
    if len(words) > 2 or not words[0]:
        raise HelpError(f"cannot read the entry: {head}")
    return Entry(
        names=words[0].split(","),
        value=words[1] if len(words) == 2 else "",
        description=description,
        required=" REQUIRED" in head,
        repeated=" ..." in head,
        excludes=excludes.group(1) if excludes else "",
    )


def entries_of(lines):
    """The entries of a section."""
    found = []
    for line in lines:
        inner = line[2:]
        if not inner.startswith(" "):
            head, _, description = inner.partition("  ")
            found.append((head, [description.strip()]))
        elif found:
            found[-1][1].append(inner.strip())
        else:
            raise HelpError(f"a description without a name: {line}")
    return [entry_of(head, " ".join(part for part in parts if part)) for head, parts in found]


def notes_of(lines):
    """The paragraphs of free text. One ends before an empty line, before "Exit status:", and with a
    sentence whose line has room for the next word."""
    notes = [[]]
    for line in lines:
        before = notes[-1][-1] if notes[-1] else ""
        has_room = len(f"{before} {line.split(' ')[0]}") <= COLUMNS
        if not line or line.startswith("Exit status:") or (before.endswith(".") and has_room):
            notes.append([])
        if line:
            notes[-1].append(line)
    return [note for note in notes if note]


def parse(words, text):
    """The Command of a help text, with entries in place of its subcommands."""
    lines = text.rstrip("\n").split("\n")
    usages = [number for number, line in enumerate(lines) if line.startswith("Usage: ")]
    if len(usages) != 1:
        raise HelpError(
            f"the help of {' '.join(words)} has {len(usages)} lines with Usage:\n{text}"
        )
    usage = lines[usages[0]].removeprefix("Usage: ")
    if not usage.startswith(" ".join(words)):
        raise HelpError(f"the help of {' '.join(words)} is about another command: {usage}")
    sections = {name: [] for name in SECTIONS}
    rest = usages[0] + 1
    while rest < len(lines):
        if not lines[rest]:
            rest += 1
        elif (title := lines[rest].removesuffix(":")) in sections and lines[rest].endswith(":"):
            rest += 1
            while rest < len(lines) and lines[rest].startswith("  "):
                sections[title].append(lines[rest])
                rest += 1
        else:
            break
    return Command(
        words=words,
        description=" ".join(lines[: usages[0]]),
        usage=usage.removeprefix(" ".join(words)).strip(),
        arguments=entries_of(sections["Positionals"]),
        options=entries_of(sections["Options"]),
        subcommands=entries_of(sections["Subcommands"]),
        notes=notes_of(lines[rest:]),
    )


def read(program, words):
    """Asks the program, a list of words, for the help of a command and of all commands below it."""
    asked = [*program, *words[1:], "--help"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        raise HelpError(f"{' '.join(asked)} failed with status {done.returncode}: {done.stderr}")
    command = parse(words, done.stdout)
    command.subcommands = [read(program, [*words, entry.names[0]]) for entry in command.subcommands]
    return command


def leaves(command):
    """The command itself, or all commands below it that do something."""
    if not command.subcommands:
        return [command]
    return [leaf for below in command.subcommands for leaf in leaves(below)]

"""Reads the help texts of the command and makes a tree of commands of them.

The help is the only source of what the command takes. A text has a description, a line "Usage:",
then sections that a title with a colon begins ("Options:"), then free text. An entry of a section
begins two columns in: its name, and after two blanks or on the next line its description. Lines of
the description are further in. A text that looks different ends the build with an error that shows
it.
"""

import collections
import re
import subprocess

# The longest line of free text.
COLUMNS = 92
SECTION = re.compile(r"^(Positionals|Options|Subcommands):\n((?:  .*\n)+)\n?", re.MULTILINE)
ENTRY = re.compile(r"^  (\S+(?: \S+)*)((?:  .*)?(?:\n {3,}.*)*)\n", re.MULTILINE)
# The name of an entry, what the help calls its value, and the remarks of CLI11.
HEAD = re.compile(
    r"(\S+)(?: (?!\.\.\.|REQUIRED|Excludes:)(\S+))?( \.\.\.)?( REQUIRED)?(?: Excludes: (.*))?"
)

# One option, argument or subcommand: its names (["-h", "--help"], ["INPUT"]), what the help calls the
# value of an option (nothing: it has none), whether it may be given several times and must be given,
# the options that cannot be given too, and the description.
Entry = collections.namedtuple("Entry", "names value repeated required excludes description")

# One command with everything that its help says: its words (["nestline", "store", "put"]), the usage
# without the words, entries, Commands below it, and notes: paragraphs, which are lists of lines.
Command = collections.namedtuple(
    "Command", "words description usage arguments options subcommands notes"
)


class HelpError(Exception):
    """The help is not of the form that this program reads."""


def entries_of(section):
    """The entries of a section."""
    if rest := ENTRY.sub("", section):
        raise HelpError(f"a description without a name: {rest}")
    found = []
    for head, description in ENTRY.findall(section):
        if not (parts := HEAD.fullmatch(head)):
            raise HelpError(f"cannot read the entry: {head}")
        names, value, repeated, required, excludes = parts.groups("")
        description = " ".join(description.split())
        found.append(
            Entry(names.split(","), value, bool(repeated), bool(required), excludes, description)
        )
    return found


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
    name = " ".join(words)
    description, *after = re.split("^Usage: ", text, flags=re.MULTILINE)
    if len(after) != 1:
        raise HelpError(f"the help of {name} has {len(after)} lines with Usage:\n{text}")
    usage, _, rest = after[0].partition("\n")
    if not usage.startswith(name):
        raise HelpError(f"the help of {name} is about another command: {usage}")
    sections = dict(SECTION.findall(rest))
    return Command(
        words,
        " ".join(description.split("\n")).strip(),
        usage.removeprefix(name).strip(),
        *(entries_of(sections.get(title, "")) for title in ("Positionals", "Options", "Subcommands")),
        notes_of(SECTION.sub("", rest).strip("\n").split("\n")),
    )


def read(program, words):
    """Asks the program, a list of words, for the help of a command and of all commands below it."""
    asked = [*program, *words[1:], "--help"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        raise HelpError(f"{' '.join(asked)} failed with status {done.returncode}: {done.stderr}")
    command = parse(words, done.stdout)
    below = [read(program, [*words, entry.names[0]]) for entry in command.subcommands]
    return command._replace(subcommands=below)

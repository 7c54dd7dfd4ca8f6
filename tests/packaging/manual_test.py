"""Tests the manual pages that the build made from the help of the command, and the completion.

What the help has is read here in another way than there: by patterns over the whole text. The
completion for bash runs in bash, that for zsh in a terminal with zsh in it, if zsh is installed.

tests/packaging/CMakeLists.txt sets PROGRAM, MANUAL (the folder of the made pages) and SOURCE (that
of the generator and the completion) in the environment.
"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import unittest

MANUAL = pathlib.Path(os.environ["MANUAL"])
SOURCE = pathlib.Path(os.environ["SOURCE"]).resolve()
sys.path.insert(0, str(SOURCE))
# The completion asks the nestline that is found first.
PROGRAMS = pathlib.Path(os.environ["PROGRAM"]).resolve().parent
os.environ["PATH"] = f"{PROGRAMS}:{os.environ['PATH']}"
os.environ["HOME"] = str(PROGRAMS)

import help_tree  # noqa: E402
import man_page  # noqa: E402


def help_of(*words):
    return subprocess.run(
        [os.environ["PROGRAM"], *words, "--help"], capture_output=True, text=True, check=True
    ).stdout


def commands():
    """All commands, as tuples of words, with their help."""
    found = {(): help_of()}
    for name in re.findall(r"^  ([a-z]+) {3,}", help_of().split("Subcommands:")[1], re.MULTILINE):
        text = help_of(name)
        found[name,] = text
        below = text.split("Subcommands:")[1] if "Subcommands:" in text else ""
        for inner in re.findall(r"^  ([a-z]+) {3,}", below, re.MULTILINE):
            found[name, inner] = help_of(name, inner)
    return found


def options_in(text):
    """The names of options at the start of lines of a help text."""
    heads = re.findall(r"^  (-\S+)", text, re.MULTILINE)
    return {name for head in heads for name in head.split(",")}


COMMANDS = commands()


class ManTest(unittest.TestCase):
    def test_the_pages_have_each_option_of_each_command(self):
        self.assertGreater(len(COMMANDS), 20)
        for words, text in COMMANDS.items():
            group = words if "\nSubcommands:\n" in text else words[:-1]
            page = (MANUAL / "man" / ("-".join(["nestline", *group]) + ".1")).read_text()
            part = page
            if words != group:
                begin = page.index(f".SS {' '.join(words)}\n")
                end = page.find("\n.S", begin + 1)
                part = page[begin : end if end > 0 else len(page)]
            shown = {
                name.replace("\\-", "-")
                for name in re.findall(r"\\fB((?:\\-){1,2}[\w\\-]+)\\fR", part)
            }
            with self.subTest(command=words):
                self.assertEqual(
                    options_in(text) - shown, {"-h", "--help"} if words != group else set()
                )

    def test_each_command_has_a_page_of_its_name(self):
        names = {"-".join(["nestline", *words]) + ".1" for words in COMMANDS}
        self.assertEqual({page.name for page in (MANUAL / "man").iterdir()}, names)
        for words, text in COMMANDS.items():
            name = "-".join(["nestline", *words])
            page = (MANUAL / "man" / f"{name}.1").read_text().replace("\\-", "-")
            self.assertIn(f".SH NAME\n{name} - ", page)
            for option in options_in(text):
                self.assertIn(f"\\fB{option}\\fR", page)

    def test_each_page_has_examples_of_its_commands(self):
        for words, text in COMMANDS.items():
            page = (MANUAL / "man" / ("-".join(["nestline", *words]) + ".1")).read_text()
            examples = page.replace("\\-", "-").split(".SH EXAMPLES\n.EX\n")[1].split(".EE\n")[0]
            below = [key for key in COMMANDS if key[:-1] == words and key and (*key,) != words]
            ends = [key for key in below if "\nSubcommands:\n" not in COMMANDS[key]] or [words]
            for end in ends:
                with self.subTest(command=words, example=end):
                    self.assertIn(f"nestline {' '.join(end)} ", examples)

    def test_paragraphs_are_those_of_the_help(self):
        page = (MANUAL / "man" / "nestline-uniq.1").read_text().replace("\\-", "-")
        for begin in ("Without --capacity,", "With --window,", "With --within,", "-d prints",
                      "-c prints", "With --state,", "Exit status:"):
            self.assertIn(f"\n.PP\n{begin}", page)
        # A sentence that ends at the end of a full line ends no paragraph.
        full = "a" * 84 + " end.\nNext sentence\n"
        self.assertEqual(len(help_tree.notes_of(full.splitlines())), 1)
        self.assertEqual(len(help_tree.notes_of(full.replace("aa ", " ").splitlines())), 2)

    def test_a_formatter_reads_them_without_a_warning(self):
        if not shutil.which("groff"):
            self.skipTest("there is no groff")
        for page in sorted((MANUAL / "man").iterdir()):
            done = subprocess.run(
                ["groff", "-man", "-ww", "-Tutf8", page], capture_output=True, text=True, check=True
            )
            self.assertEqual(done.stderr, "")
            self.assertIn("Exit status: 0", " ".join(done.stdout.split()))  # lines are filled

    def test_special_characters_of_roff_are_themselves(self):
        self.assertEqual(man_page.roff(r".a\0-'b'"), r"\&.a\e0\-\(aqb\(aq")


class HelpTest(unittest.TestCase):
    def test_a_help_of_another_form_is_an_error(self):
        with self.assertRaisesRegex(help_tree.HelpError, "0 lines with Usage"):
            help_tree.parse(["nestline"], "Something\n")
        with self.assertRaisesRegex(help_tree.HelpError, "another command"):
            help_tree.parse(["nestline"], "Something\nUsage: other [OPTIONS]\n")
        with self.assertRaisesRegex(help_tree.HelpError, "cannot read the entry: --a B C"):
            help_tree.parse(["x"], "D\nUsage: x\n\nOptions:\n  --a B C     text\n")

    def test_an_entry_may_be_longer_than_its_column(self):
        text = (
            "D\nUsage: x\n\nOptions:\n  --quite-a-long-name N REQUIRED\n"
            + " " * 30
            + "What it is\n"
        )
        option = help_tree.parse(["x"], text).options[0]
        self.assertEqual(
            (option.names, option.value, option.required, option.description),
            (["--quite-a-long-name"], "N", True, "What it is"),
        )


def bash_offers(folder, *words):
    """What bash offers for the last of the words."""
    script = (
        'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _nestline; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, SOURCE / "nestline.bash", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split()), done.stderr


class CompletionTest(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        (self.folder / "words.nest").write_text("")
        (self.folder / "users.db").mkdir()

    def test_bash_offers_all_commands_and_options(self):
        for words, text in COMMANDS.items():
            with self.subTest(command=words):
                self.assertEqual(
                    bash_offers(self.folder, "nestline", *words, "-"),
                    ({name for name in options_in(text)}, ""),
                )
                below = {
                    key[-1]
                    for key in COMMANDS
                    if len(key) == len(words) + 1 and key[: len(words)] == words
                }
                if below:
                    self.assertEqual(bash_offers(self.folder, "nestline", *words, ""), (below, ""))

    def test_bash_knows_what_is_a_file(self):
        for words, offered in [
            (["build", "-o", ""], {"words.nest", "users.db"}),
            (["build", "--capacity", ""], set()),
            (["build", "--capacity", "9", "w"], {"words.nest"}),
            (["build", "--capacity", "=", "9", "w"], {"words.nest"}),
            (["query", "-v", "words.nest", "w"], {"words.nest"}),
            (["query", "--", "-"], set()),
            (["info", "words.nest", ""], set()),
            (["store", "get", ""], {"users.db"}),
            (["store", "get", "users.db", ""], set()),
            (["store", "load", "users.db", "a", "w"], {"words.nest"}),
            (["store", "export", "users.db", "x", "-o", "w"], {"words.nest"}),
            (["cluster", "add", "--server", "query", "name", "w"], {"words.nest"}),
            (["sto"], {"store"}),
            (["store", "ex"], {"export"}),
        ]:
            with self.subTest(words=words):
                self.assertEqual(bash_offers(self.folder, "nestline", *words), (offered, ""))

    def test_bash_asks_the_command_that_is_typed(self):
        for command in (str(PROGRAMS / "nestline"), "~/nestline"):
            with self.subTest(command=command):
                self.assertEqual(bash_offers(self.folder, command, "sto"), ({"store"}, ""))
        self.assertEqual(bash_offers(self.folder, "not-there", "sto"), (set(), ""))

    @unittest.skipUnless(shutil.which("zsh"), "there is no zsh")
    def test_zsh_knows_all_commands_and_options(self):
        # The functions of zsh that take what ours have read are replaced by one that prints it.
        script = (
            '_arguments() print -rl -- "$@"; _describe() print -rl -- $commands; words=(true); '
            'source "$0"; state=command; _nestline_command "$@" || true'
        )
        for words, text in COMMANDS.items():
            done = subprocess.run(
                ["zsh", "-f", "-c", script, SOURCE / "_nestline", "nestline", *words],
                capture_output=True,
                text=True,
                check=True,
            )
            with self.subTest(command=words):
                names = re.findall(r"^(?:\*|\([^)]*\))(-[^[]+)\[", done.stdout, re.MULTILINE)
                self.assertEqual((set(names), done.stderr), (options_in(text), ""))
                if words[:1] == ("cluster",) and words[1:]:
                    server = r"\n\*--server\[A server\\: HOST\\:PORT, HOST, \[IPV6\\\]\\:PORT, .*\]:SERVER:\(\)\n"
                    self.assertRegex(done.stdout, server)

    @unittest.skipUnless(shutil.which("zsh"), "there is no zsh")
    def test_zsh_offers_what_the_help_has(self):
        with ZshTerminal(self.folder) as zsh:
            for line, offered in [
                ("nestline ver", "nestline verify "),
                ("nestline store expo", "nestline store export "),
                ("nestline build --max", "nestline build --max-capacity "),
                ("nestline build -o wor", "nestline build -o words.nest "),
                ("nestline store get us", "nestline store get users.db/"),
                ("nestline cluster create --pas", "nestline cluster create --password-file "),
                ("nestline store get users.db wor", "nestline store get users.db wor"),
            ]:
                with self.subTest(line=line):
                    self.assertEqual(zsh.complete(line), offered)


class ZshTerminal:
    """A zsh in a terminal. A key of its own prints the line as it stands between two marks."""

    SETUP = (
        "PROMPT=; unsetopt zle_bracketed_paste prompt_cr prompt_sp; fpath=({source} $fpath); "
        "autoload -U compinit; compinit -u -D; setopt no_auto_menu no_list_beep; "
        "show() {{ print -r -- \"<<$BUFFER>>\"; BUFFER=; }}; zle -N show; bindkey '^Y' show; "
        "bindkey '^I' expand-or-complete; print ready-$((1 + 1))\n"
    )

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(self.folder)
            os.environ["TERM"] = "dumb"
            os.execvp("zsh", ["zsh", "-f", "-i"])
        os.write(self.terminal, self.SETUP.format(source=SOURCE).encode())
        self.read_until(r"ready-2")
        return self

    def __exit__(self, *_):
        os.close(self.terminal)
        os.waitpid(self.child, 0)

    def read_until(self, pattern):
        text = ""
        while not (found := re.search(pattern, text)):
            if not select.select([self.terminal], [], [], 60)[0]:
                raise AssertionError(f"zsh is silent after {text!r}")
            text += os.read(self.terminal, 4096).decode(errors="replace")
        return found

    def complete(self, line):
        os.write(self.terminal, line.encode() + b"\t\x19")
        return self.read_until(r"<<(.*?)>>").group(1)


if __name__ == "__main__":
    unittest.main()

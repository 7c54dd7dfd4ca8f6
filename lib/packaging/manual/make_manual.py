"""Makes manual pages and completion files from the help of the command.

  make_manual.py VERSION FOLDER EXAMPLES PROGRAM...

Writes FOLDER/man/*.1, FOLDER/bash/nestline and FOLDER/zsh/_nestline. The files say what the help
says, so no list of options stands in two places, and pages have the lines of the scripts
EXAMPLES/*.sh, which tests run, that are about their command. PROGRAM may be several words: an emulator
and the command. A failure leaves a message and status 1.
"""

import pathlib
import sys

import completion
import help_tree
import man_page


def main():
    version, folder, examples, *program = sys.argv[1:]
    try:
        root = help_tree.read(program, ["nestline"])
    except help_tree.HelpError as error:
        sys.exit(f"make_manual.py: {error}")
    examples = man_page.examples_in(sorted(pathlib.Path(examples).glob("*.sh")))
    pages = man_page.page(root, version, examples)
    files = {f"man/{name}": text for name, text in pages.items()}
    files["bash/nestline"] = completion.bash(root)
    files["zsh/_nestline"] = completion.zsh(root)
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()

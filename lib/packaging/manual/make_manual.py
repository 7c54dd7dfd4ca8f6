"""Makes manual pages and completion files from the help of the command.

  make_manual.py VERSION FOLDER PROGRAM...

Writes FOLDER/man/*.1, FOLDER/bash/nestline and FOLDER/zsh/_nestline. The files say what the help
says and nothing else, so no list of options stands in two places. PROGRAM may be several words: an
emulator and the command. A failure leaves a message and status 1.
"""

import pathlib
import sys

import completion
import help_tree
import man_page


def main():
    version, folder, *program = sys.argv[1:]
    try:
        root = help_tree.read(program, ["nestline"])
    except help_tree.HelpError as error:
        sys.exit(f"make_manual.py: {error}")
    files = {f"man/{name}": text for name, text in man_page.page(root, version).items()}
    files["bash/nestline"] = completion.bash(root)
    files["zsh/_nestline"] = completion.zsh(root)
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()

"""Writes the C++, C and Python examples of README.md into a folder, one program each.

Usage: readme_examples.py README.md FOLDER. Prints their names as a list for CMake, in the order of
README.md: example_1.cc;example_2.c;... Files that would not change are left alone, so that nothing is
compiled again without need.
"""

import pathlib
import re
import sys

SUFFIXES = {"cpp": ".cc", "c": ".c", "python": ".py"}


def main():
    readme, folder = map(pathlib.Path, sys.argv[1:])
    languages = "|".join(SUFFIXES)
    examples = re.findall(rf"^```({languages})\n(.*?)^```$", readme.read_text(),
                          re.MULTILINE | re.DOTALL)
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for number, (language, text) in enumerate(examples, 1):
        path = folder / f"example_{number}{SUFFIXES[language]}"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        names.append(path.name)
    print(";".join(names))


if __name__ == "__main__":
    main()

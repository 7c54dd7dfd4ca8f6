"""Writes the C++ examples of README.md into a folder, one program each: example_1.cc, ...

Usage: readme_examples.py README.md FOLDER. Prints how many there are. Files that would not change
are left alone, so that nothing is compiled again without need.
"""

import pathlib
import re
import sys


def main():
    readme, folder = map(pathlib.Path, sys.argv[1:])
    examples = re.findall(r"^```cpp\n(.*?)^```$", readme.read_text(), re.MULTILINE | re.DOTALL)
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(examples, 1):
        path = folder / f"example_{number}.cc"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    print(len(examples))


if __name__ == "__main__":
    main()

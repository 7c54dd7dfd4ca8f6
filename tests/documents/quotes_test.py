"""Checks that what README.md and docs/ quote is in a file that tests build or run.

A program in a document follows a comment that names its file:

    <!-- from tests/documents/examples/first.cc -->
    ```cpp

The quotation is a run of lines of that file, whatever its indentation. Programs in C++, C, Python, Go, Java
and CMake must be quotations; shell commands may be.

Links to files and to headings of our documents must lead somewhere. README.md is short, and the pages
that its table of ways in names open with an example.
"""

import pathlib
import re
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = {"cpp", "c", "python", "cmake", "go", "java"}
FENCE = re.compile(r"(?:^<!-- from (\S+) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def lines_of(text):
    return textwrap.dedent(text).strip("\n").splitlines()


def is_quoted(quotation, text):
    """Whether the lines are in the text one after another, all shifted by equally many blanks."""
    wanted = lines_of(quotation)
    lines = text.splitlines()
    return any(
        lines_of("\n".join(lines[at : at + len(wanted)])) == wanted for at in range(len(lines))
    )


def anchors(path):
    """The names of a document's headings in links."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")
            for heading in headings}


class QuotesTest(unittest.TestCase):
    def test_each_program_in_a_document_is_a_quotation(self):
        quoted = set()
        for document in DOCUMENTS:
            for source, language, text in FENCE.findall(document.read_text(encoding="utf-8")):
                with self.subTest(document=document.name, begins=text[:60]):
                    if language in PROGRAMS:
                        self.assertTrue(source, "no comment names the file that it is from")
                    if source:
                        quoted.add(source)
                        whole = (ROOT / source).read_text(encoding="utf-8")
                        self.assertTrue(is_quoted(text, whole), f"not as it stands in {source}")
        self.assertGreater(len(quoted), 6)

    def test_each_public_header_is_listed(self):
        texts = {name: (ROOT / "docs" / name).read_text(encoding="utf-8")
                 for name in ("CPP.md", "C.md", "HACKING.md")}
        for path in (ROOT / "include" / "nestline").glob("*.h"):
            with self.subTest(header=path.name):
                self.assertIn(f"`{path.name}`", texts["HACKING.md"])
                if path.name != "export.h":  # what users do not include
                    self.assertIn(f"/nestline/{path.name})", texts["CPP.md"] + texts["C.md"])

    def test_links_lead_somewhere(self):
        for document in DOCUMENTS:
            for link in LINK.findall(document.read_text(encoding="utf-8")):
                if re.match(r"https?:", link):
                    continue
                with self.subTest(document=document.name, link=link):
                    path, _, anchor = link.partition("#")
                    target = (document.parent / path).resolve() if path else document
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(target))

    def test_the_first_page_is_short_and_its_ways_in_open_with_an_example(self):
        first = DOCUMENTS[0].read_text(encoding="utf-8")
        self.assertLessEqual(len(first.splitlines()), 140)
        ways = first.partition("## Ways in")[2].partition("## ")[0]
        pages = set(re.findall(r"\]\((docs/\w+\.md)", ways[: ways.index("\n\nThe headers")]))
        self.assertGreater(len(pages), 9)
        for page in pages - {"docs/FORMAT.md"}:  # bytes, beside a way in
            with self.subTest(page=page):
                opening = (ROOT / page).read_text(encoding="utf-8").partition("\n## ")[0]
                self.assertTrue([source for source, *_ in FENCE.findall(opening) if source])

    def test_a_changed_line_is_not_a_quotation(self):
        text = "int main() {\n  return f(1);\n}\n"
        self.assertTrue(is_quoted("return f(1);\n", text))
        self.assertFalse(is_quoted("return f(2);\n", text))
        self.assertFalse(is_quoted("int main() {\n}\n", text))


if __name__ == "__main__":
    unittest.main()

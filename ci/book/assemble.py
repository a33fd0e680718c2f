"""Pages of the repository as the source of a book.

In: the root of the repository and an empty folder. Out: in that folder, SUMMARY.md and each page
that it names, under the page's own path, so that links between pages stay as they are. A link to
a file that is no page becomes one to the repository; a link to nothing is an error. Pages in
rustdoc's manner get their title, and the links of their `.links.md` lead to docs.rs. Files that
are no Markdown are pages of code.
"""

import os
import re
import sys

SUMMARY = "ci/book/SUMMARY.md"
REPOSITORY = "https://github.com/tilewright/tilewright"
ENTRY = re.compile(r"\[(?P<title>[^\]]+)\]\((?P<path>[^)]+)\)")
# A span of code, which is left alone, or a link.
LINK = re.compile(r"(?P<code>`+)(?!`).*?(?<!`)(?P=code)(?!`)|\]\((?P<to>[^)\s]+)\)", re.S)
DEFINITION = re.compile(r"^(\[.+\]): crate::(.+)$", re.M)
FENCE = re.compile(r"(^```.*?^```\n)", re.M | re.S)
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp"}


def outside_code(text, change):
    """The text with everything that is no block of code changed."""
    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else change(part) for part in parts)


def crate_of(root, path):
    """The name of the crate that a page lies in."""
    folder = os.path.dirname(path)
    while not os.path.exists(os.path.join(root, folder, "Cargo.toml")):
        folder = os.path.dirname(folder)
    with open(os.path.join(root, folder, "Cargo.toml"), encoding="utf-8") as manifest:
        return re.search(r'^name = "(.+)"', manifest.read(), re.M).group(1)


def rustdoc(root, path, title, text):
    """A page that rustdoc includes: it has no title, and links to items of its crate."""
    has_titles = any(re.search(r"^# ", part, re.M) for part in FENCE.split(text)[::2])
    if has_titles:
        text = outside_code(text, lambda part: re.sub(r"^#", "##", part, flags=re.M))
    links = os.path.join(root, path.removesuffix(".md") + ".links.md")
    if os.path.exists(links):
        crate = crate_of(root, path)
        page = f"https://docs.rs/{crate}/latest/{crate.replace('-', '_')}/?search="
        with open(links, encoding="utf-8") as file:
            text += "\n" + DEFINITION.sub(rf"\1: {page}\2", file.read())
    return f"# {title}\n\n{text}"


class Book:
    def __init__(self, root, out):
        self.root, self.out, self.wrong = root, out, []
        with open(os.path.join(root, SUMMARY), encoding="utf-8") as file:
            self.summary = file.read()
        self.pages = {entry["path"]: entry["title"] for entry in ENTRY.finditer(self.summary)}

    def link(self, path, to):
        """Where a link of a page leads in the book."""
        if re.match(r"[a-z]+:|#", to):
            return to
        name, _, place = to.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if target in self.pages:
            return to if target.endswith(".md") else f"{name}.md"
        there = os.path.join(self.root, target)
        if target.startswith("..") or not os.path.exists(there):
            self.wrong.append(f"{path}: {to} leads nowhere")
        kind = "tree" if os.path.isdir(there) else "blob"
        return f"{REPOSITORY}/{kind}/main/{target}" + (f"#{place}" if place else "")

    def page(self, path, title):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            text = file.read()
        ending = os.path.splitext(path)[1]
        if ending != ".md":
            return f"# {title}\n\n```{LANGUAGES[ending]}\n{text}```\n"
        if not text.startswith("# "):
            text = rustdoc(self.root, path, title, text)

        def led(found):
            to = found["to"]
            return f"]({self.link(path, to)})" if to else found[0]

        return outside_code(text, lambda part: LINK.sub(led, part))

    def write(self, path, text):
        to = os.path.join(self.out, path if path.endswith(".md") else f"{path}.md")
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(to, "w", encoding="utf-8") as file:
            file.write(text)

    def forgotten(self):
        """Pages of documentation that the summary does not name."""
        for folder, folders, files in os.walk(self.root):
            hidden = (name for name in list(folders) if name.startswith((".", "target")))
            for name in hidden:
                folders.remove(name)
            here = os.path.relpath(folder, self.root)
            for name in files:
                page = os.path.normpath(os.path.join(here, name))
                is_page = os.path.basename(here) == "docs" and name.endswith(".md")
                if is_page and not name.endswith(".links.md") and page not in self.pages:
                    self.wrong.append(f"{SUMMARY}: {page} is not in it")

    def assemble(self):
        for path, title in self.pages.items():
            if os.path.exists(os.path.join(self.root, path)):
                self.write(path, self.page(path, title))
            else:
                self.wrong.append(f"{SUMMARY}: {path} is not there")
        self.write("SUMMARY.md", ENTRY.sub(self.entry, self.summary))
        self.forgotten()

    @staticmethod
    def entry(found):
        path = found["path"]
        return f"[{found['title']}]({path if path.endswith('.md') else path + '.md'})"


def main():
    book = Book(sys.argv[1], sys.argv[2])
    book.assemble()
    for wrong in book.wrong:
        print(f"error: {wrong}", file=sys.stderr)
    sys.exit(1 if book.wrong else 0)


main()

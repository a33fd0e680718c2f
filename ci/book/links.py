"""Links of a built book.

In: the folder of its HTML. Out: how many links within it lead to a file, and to a place in it where
they name one; each that does not is an error.
"""

import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], {""}
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def read(folder):
    """The pages, by their paths."""
    pages = {}
    for here, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".html"):
                path = os.path.join(here, name)
                pages[os.path.normpath(path)] = Page(path)
    return pages


def main():
    folder = sys.argv[1]
    pages = read(folder)
    count, wrong = 0, []
    for path, page in pages.items():
        for link in page.links:
            to = urlsplit(link)
            if to.scheme or to.netloc:
                continue
            count += 1
            name = unquote(to.path)
            target = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if not os.path.isfile(target):
                wrong.append(f"{os.path.relpath(path, folder)}: {link} leads nowhere")
            elif target in pages and unquote(to.fragment) not in pages[target].places:
                wrong.append(f"{os.path.relpath(path, folder)}: {link}: there is no such place")
    for line in sorted(set(wrong)):
        print(f"error: {line}", file=sys.stderr)
    if wrong:
        sys.exit(1)
    print(f"{len(pages)} pages of HTML, {count} links within")


main()

#!/usr/bin/env bash
# Puts the pages that ci/book/SUMMARY.md names together as a book and builds it by mdBook, into
# target/book/html. Fails where a link within the book, or from it into the repository, leads
# nowhere, and where a page of a folder `docs` is not in the summary.
#
#   MDBOOK   an mdbook of your own; else one is installed into .tools/mdbook, which takes minutes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mdbook=${MDBOOK:-$PWD/.tools/mdbook/bin/mdbook}
if [ -z "${MDBOOK:-}" ] && [ ! -x "$mdbook" ]; then
    cargo install --locked mdbook --version 0.4.52 --root .tools/mdbook
fi

book=target/book
rm -rf "$book"
mkdir -p "$book/src"
cp ci/book.toml "$book/book.toml"
python3 ci/book/assemble.py . "$book/src"
RUST_LOG=warn "$mdbook" build "$book"
links=$(python3 ci/book/links.py "$book/html")
printf 'book: %s/html/index.html, %s\n' "$book" "$links"

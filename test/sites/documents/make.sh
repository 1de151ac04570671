#!/bin/sh
# Makes the files of this site from its sources with LibreOffice (Debian: libreoffice-writer-nogui, -calc-nogui,
# -impress-nogui). Tests read the files only.
set -e
cd "$(dirname "$0")"
profile="-env:UserInstallation=file://$(mktemp -d)"
convert() { soffice "$profile" --headless --convert-to "$2" --outdir files "sources/$1" >/dev/null; }
for format in docx odt rtf doc; do convert report.fodt "$format"; done
for format in xlsx ods xls; do convert orders.fods "$format"; done
for format in pptx odp; do convert talk.fodp "$format"; done
python3 make_book.py files/book.epub

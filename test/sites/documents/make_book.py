"""Writes files/book.epub: a spine of two chapters, a link between them, a note and a list of contents."""
import sys
import zipfile

PAGE = '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><style>p { margin: 0 }</style></head><body>%s</body></html>'
FILES = {
    'META-INF/container.xml': '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
    'OPS/book.opf': '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The salt road</dc:title><dc:creator>Edda Krall</dc:creator><dc:language>en</dc:language><dc:date>2019-05-17</dc:date></metadata><manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/><item id="b" href="text/second.xhtml" media-type="application/xhtml+xml"/><item id="a" href="text/first.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="nav"/><itemref idref="a"/><itemref idref="b"/></spine></package>',
    'OPS/nav.xhtml': PAGE % '<nav epub:type="toc" xmlns:epub="http://www.idpf.org/2007/ops"><ol><li><a href="text/first.xhtml">Leaving</a></li></ol></nav>',
    'OPS/text/first.xhtml': PAGE % '<h1 id="top">Leaving the coast</h1><p>The carts left before dawn&#8212;twelve of them.<a id="r1" href="#n1">1</a> <i>Nobody</i> spoke&nbsp;much.<a id="mark"/></p><p>See <a href="second.xhtml#pass">the pass</a> and <a href="http://maps.example/salt">the map</a>.</p><p><img src="cart.jpg" alt="A cart with salt sacks"/></p><aside id="n1"><p>Thirteen by another count. <a href="#r1">back</a></p></aside>',
    'OPS/text/second.xhtml': PAGE % '<h1>Over the mountains</h1><script type="text/javascript">track()</script><h2 id="pass">The pass</h2><blockquote><p>Snow in June, said the guide.</p></blockquote><table><tr><th>Stage</th><th>Miles</th></tr><tr><td>Coast to ford</td><td>14</td></tr><tr><td>Ford to pass</td><td>22</td></tr></table>',
}

with zipfile.ZipFile(sys.argv[1], 'w') as book:
    book.writestr(zipfile.ZipInfo('mimetype'), 'application/epub+zip')
    for name, text in FILES.items():
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED
        book.writestr(info, text)

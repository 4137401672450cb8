"""One self-contained HTML file that shows what was learned: tables, attractors to turn with the mouse, time series,
spectra, exponents, learning curves, and who owns which unit. It opens offline."""

from crug.page.book import Book, Chapter, Material, chapter
from crug.page.html import page, write_page

__all__ = ["Book", "Chapter", "Material", "chapter", "page", "write_page"]

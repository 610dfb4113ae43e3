"""Pages of the site that are not files in docs/, and links that lead out of docs/.

README.md, CONTRIBUTING.md and CHANGELOG.md stand at the root of the repository, where people look for them. The site
shows the same text: the README as its start page, without its list of links to the documentation, which the navigation
replaces. Each script in examples/ becomes a page with its code.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(\]\()(?!\w+:|#)([^)#\s]+)((?:#[^)\s]*)?\))")
FROM_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
ASSETS = ("site.css", "iframe-worker.js")


def without_list_of_pages(readme: str) -> str:
    """Return the README without its last section, a list of the pages that the site shows in its navigation."""
    text, mark, _ = readme.partition("\n## Documentation\n")
    if not mark:
        raise ValueError("README.md has no section Documentation")
    return text


def place(path: str) -> str:
    """Return where the site shows a file of the repository; paths are relative to docs/ on the site."""
    if path.startswith("docs/"):
        path = path.removeprefix("docs/")
        return path if posixpath.splitext(path)[1] else posixpath.join(path, "README.md")
    if path.startswith("examples/"):
        return posixpath.splitext(path)[0] + ".md"
    return FROM_ROOT[path]


def with_links_on_the_site(text: str, path: str) -> str:
    """Return the Markdown of a file of the repository, with links that lead to where the site shows their targets."""
    folder, shown_in = posixpath.dirname(path), posixpath.dirname(place(path))

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        return match[1] + posixpath.relpath(place(target), shown_in or ".") + match[3]

    return LINK.sub(link, text)


def example_page(path: Path) -> str:
    """Return a page with the code of an example."""
    return f"# examples/{path.name}\n\n```python\n{path.read_text()}```\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from files outside docs/, and the style sheet and script."""
    texts = {name: (ROOT / name).read_text() for name in FROM_ROOT}
    texts["README.md"] = without_list_of_pages(texts["README.md"])
    for name, text in texts.items():
        files.append(File.generated(config, FROM_ROOT[name], content=with_links_on_the_site(text, name)))
    for path in sorted((ROOT / "examples").glob("*.py")):
        files.append(File.generated(config, place(f"examples/{path.name}"), content=example_page(path)))
    for name in ASSETS:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / "website" / name)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let the links of a page of docs/ lead to where the site shows their targets."""
    if page.file.generated_by:
        return markdown
    return with_links_on_the_site(markdown, f"docs/{page.file.src_uri}")


def on_page_content(html: str, **_: Any) -> str:
    """Keep a mean, its standard error and its number of episodes on one line in tables; wide tables scroll instead."""

    def unbroken(cell: re.Match[str]) -> str:
        return re.sub(r" ± ([\d.]+)( (?=\(\d))?", lambda m: m[0].replace(" ", "\u00a0"), cell[0])

    return re.sub(r"<td.*?</td>", unbroken, html, flags=re.DOTALL)

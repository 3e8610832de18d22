"""Hooks of mkdocs: CONTRIBUTING.md and CHANGELOG.md, which lie at the root, are pages of the site, too."""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages to those in docs/."""
    for name in PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Points links across docs/ and the root to where the pages are in the site."""
    markdown = markdown.replace("](../CONTRIBUTING.md", "](CONTRIBUTING.md")
    return markdown.replace("](docs/", "](") if page.file.src_uri in PAGES else markdown

"""Notebooks as pages: MkDocs runs their cells when it builds the site, and shows what they print, draw and return."""

import ast
import io
import json
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

from mkdocs.structure.files import File

HERE = Path(__file__).parent / "notebooks"


def run(code, names):
    """Return what a cell prints, and the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop().value if isinstance(tree.body[-1], ast.Expr) else ast.parse("None").body[0].value
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<cell>", "exec"), names)
        value = eval(compile(ast.Expression(last), "<cell>", "eval"), names)
    return printed.getvalue(), value


def page(notebook, show):
    """Return a notebook that was run, as Markdown; show takes the names and bytes of its pictures."""
    parts = []
    names = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        said, value = run(source, names)
        parts.append(f"```python\n{source}\n```")
        if hasattr(value, "savefig"):
            drawn = io.BytesIO()
            value.savefig(drawn, dpi=100)
            show(f"{notebook.stem}-{len(parts)}.png", drawn.getvalue())
            parts.append(f"![The picture that the cell draws]({notebook.stem}-{len(parts)}.png)")
        elif value is not None:
            said += repr(value)
        if said:
            parts.append(f"```text\n{said}\n```")
    parts.insert(1, f"[Download this notebook]({notebook.name}){{ .md-button download }}")
    return "\n\n".join(parts)


def on_files(files, config):
    """Return MkDocs' files with a page for each notebook."""

    def add(name, content):
        files.append(File.generated(config, f"notebooks/{name}", content=content))

    with TemporaryDirectory() as folder, chdir(folder):
        for notebook in sorted(HERE.glob("*.ipynb")):
            add(f"{notebook.stem}.md", page(notebook, add))
    return files

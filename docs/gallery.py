"""The gallery: ``python docs/gallery.py`` runs its scripts, which draw their pictures; MkDocs makes a page of each script."""

import ast
import os
import runpy
from itertools import groupby
from pathlib import Path

from mkdocs.structure.files import File
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from sfumato.spaces import all_spaces
from sfumato.views.words import in_short

HERE = Path(__file__).parent / "gallery"
LOOK = 'loading=lazy style="background: white; height: 10rem; object-fit: contain; padding: .3rem; width: 100%"'
KINDS = {"landmarks": "Shapes and curves", "matrices": "Matrices and rotations"}
KINDS |= {"vectors": "Directions, shares, angles and numbers", "arrays": "Planes and frames"}
INTRO = """# Gallery

One script for each space: who has such data, what is public, and one release with its ε. Pictures show what was released
(brown) with its error (soft), beside what was public (grey). `python docs/gallery.py` runs all scripts; your draws will differ.
"""


def page(name):
    """Return the title of a script, and its page: what it shows, the picture and the code."""
    source = (HERE / f"{name}.py").read_text(encoding="utf-8")
    title, _, story = ast.get_docstring(ast.parse(source)).partition(".\n\n")
    sentences, data = story.replace("\n", " ").split(" Data: ")
    code = source.split('"""', 2)[2].strip()
    with Image.open(HERE / f"{name}.png") as picture:
        words = picture.text["Description"]
    first = f"# {title}\n\n{sentences}\n\n![{title}]({name}.png)\n\n*{words}*"
    last = f"Space: `{name}`. Data: {data} [The script]({name}.py). [All scripts](index.md)."
    return title, f"{first}\n\n```python\n{code}\n```\n\n{last}\n"


def on_files(files, config):
    """Return MkDocs' files with a page for each script, and one that leads to them all."""
    index = [INTRO]
    for kind, spaces in groupby(all_spaces(), lambda space: space.kind):
        index += [f"## {KINDS[kind]}", '<div class="grid cards" markdown>']
        for name in [space.name for space in spaces]:
            title, content = page(name)
            files.append(File.generated(config, f"gallery/{name}.md", content=content))
            picture = f"- [![{title}]({name}.png){{ {LOOK} }}]({name}.md)"
            index.append(f"{picture}\n\n    [{title}]({name}.md)  \n    `{name}`")
        index.append("</div>")
    files.append(File.generated(config, "gallery/index.md", content="\n\n".join(index)))
    return files


if __name__ == "__main__":
    os.chdir(HERE)
    for name in [space.name for space in all_spaces()]:
        words = PngInfo()
        words.add_text("Description", " ".join(in_short(runpy.run_path(f"{name}.py")["release"])))
        with Image.open(f"{name}.png") as drawn:
            small = drawn.convert("RGB")
        small.thumbnail((800, 800))
        few = small.quantize(256, Image.Quantize.FASTOCTREE, kmeans=1)
        small.quantize(palette=few).save(f"{name}.png", optimize=True, pnginfo=words)

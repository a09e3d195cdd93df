"""For mkdocstrings: docstrings of sfumato as Markdown.

Roles such as :func:`name` become `name`.  Sections are in numpydoc form and are parsed by mkdocstrings; examples in
docstrings without an Examples section become blocks of code.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":(?:func|meth|class|mod):`~?([^`]+)`")
EXAMPLE = re.compile(r"(?:^>>>.*\n?)(?:^.*\S.*\n?)*", re.MULTILINE)


class Docstrings(Extension):
    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            if not re.search(r"^Examples\n-+$", text, re.MULTILINE):
                text = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
            obj.docstring.value = text

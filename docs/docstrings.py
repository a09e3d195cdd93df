"""For mkdocstrings: docstrings as they are written in sfumato, set as Markdown.

Examples become blocks of code, and roles such as :func:`name` become `name`.
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
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)

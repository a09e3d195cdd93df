"""For mkdocstrings: docstrings of sfumato as Markdown.

Roles such as :func:`name` become `name`, and a result of the proofs a link to its page.  Sections are in numpydoc form and are
parsed by mkdocstrings; examples in docstrings without an Examples section become blocks of code.  Of a class with a base of
ours only methods that are its own are shown.
"""

import re
from typing import Any

from griffe import Class, Extension, Module, Object

ROLE = re.compile(r":(?:func|meth|class|mod):`~?([^`]+)`")
RESULT = re.compile(r"\bResult (\d+[a-z]?)\b")
EXAMPLE = re.compile(r"(?:^>>>.*\n?)(?:^.*\S.*\n?)*", re.MULTILINE)


class Docstrings(Extension):
    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            text = RESULT.sub(r"[Result \1][result-\1]", ROLE.sub(r"`\1`", obj.docstring.value))
            if "\nParameters\n---" in text and "\nExamples\n---" not in text:
                text = text.replace("\n\n>>>", "\n\nExamples\n--------\n>>>", 1)
            elif "\nExamples\n---" not in text:
                text = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
            obj.docstring.value = text

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        for kind in classes(pkg):
            if bases := [base for base in kind.mro() if base.package is pkg]:
                for name, member in kind.members.items():
                    if member.is_attribute or any(name in base.members for base in bases):
                        member.docstring = None


def classes(inside: Object) -> list[Class]:
    """Return the classes of a module and of the modules in it."""
    own = [each for each in inside.members.values() if not each.is_alias]
    deeper = [kind for each in own if each.is_module for kind in classes(each)]
    return [each for each in own if each.is_class] + deeper

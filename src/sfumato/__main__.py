"""``python -m sfumato``: the command ``sfumato``."""

from .cli import main

main()

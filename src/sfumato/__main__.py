"""``python -m sfumato``: the command ``sfumato``."""

from .app.cli import main

main()

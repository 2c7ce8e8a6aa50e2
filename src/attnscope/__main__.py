"""`python -m attnscope` is `attnscope`."""

from attnscope.cli import main

main()

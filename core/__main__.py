"""`python -m core`: the command line."""

from core.cli import main

if __name__ == "__main__":
    raise SystemExit(main())

"""``python -m mercer`` is the command line, where the script `mercer` is not on the path."""

from .app.cli import main

if __name__ == "__main__":
    main(prog_name="python -m mercer")

"""`python -m playpath`, and the command `playpath`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is being loaded ends it as later on."""
    try:
        from playpath import cli
    except KeyboardInterrupt:
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()

"""`python -m veilboost`."""

from veilboost.cli.main import main

if __name__ == "__main__":
    main()

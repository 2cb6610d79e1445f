"""The command ``penchant``, and ``python -m penchant``."""

from penchant.cli import main

if __name__ == "__main__":
    main()

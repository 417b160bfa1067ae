"""`python -m cepheid` is the same as the command `cepheid`."""

import sys

from cepheid.cli import main

sys.exit(main())

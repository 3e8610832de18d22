import sys

from convnet_benchmarks.cli import main

sys.exit(main())

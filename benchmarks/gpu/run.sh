#!/usr/bin/env bash
# Measures a machine with a CUDA GPU: bash benchmarks/gpu/run.sh OUT [1|2|3|4 ...] [options]; docs/gpu.md explains.
# Packages that are missing are installed from .wheels (fetch_wheels.sh), beside the machine's own, for this run only.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
"$python" benchmarks/gpu/missing_wheels.py .wheels >"$site/list"
if [ -s "$site/list" ]; then
    xargs "$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$site" <"$site/list"
fi
PYTHONUNBUFFERED=1 PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}" "$python" -m benchmarks.gpu "$@"

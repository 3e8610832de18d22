#!/usr/bin/env bash
# Fetches what a machine without a package registry may lack, for Linux on x86-64, into .wheels (which git ignores):
#   bash benchmarks/gpu/fetch_wheels.sh [PYTHON_VERSION]        (3.12 unless told otherwise)
# PyTorch is not among it: a machine with a GPU brings its own. Needs pip and a registry.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:-3.12}
platforms=()
for name in manylinux_2_28 manylinux_2_27 manylinux_2_17 manylinux2014 manylinux1; do
    platforms+=(--platform "${name}_x86_64")
done
mkdir -p .wheels
rm -f .wheels/*.whl
"${PYTHON:-python3}" -m pip download -q --only-binary=:all: --python-version "$version" --implementation cp \
    "${platforms[@]}" -c constraints.txt -d .wheels \
    argparse-dataclass h5py lupa markdown-it-py numpy platformdirs psutil rich pytest pytest-xdist hypothesis prompt_toolkit pillow
size=$(du -sm .wheels | cut -f1)
echo "$(ls .wheels | wc -l) wheels, $size MiB in .wheels"
if [ "$size" -gt 48 ]; then
    echo "fetch_wheels.sh: more than 48 MiB, which leaves too little of 64 for the tree" >&2
    exit 1
fi

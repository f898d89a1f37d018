#!/usr/bin/env bash
# Everything that needs a GPU, in under 8 minutes: tests of the kernels, bandwidth, step times, tokens per second.
#
#   benchmarks/gpu.sh [--quick] [--json FILE]
#
# Needs Python with torch 2.11 to 2.14 for CUDA, and Triton, which comes with it; nothing is fetched or installed.
# pytest and transformers are used where they are installed, and their absence is said. PYTHON names another python.
set -uo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-$([[ -x .venv/bin/python ]] && echo .venv/bin/python || command -v python3)}
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 TRITON_INTERPRET=0
for package in msgspec gguf; do
  if ! "$python" -c "import $package" 2>/dev/null; then
    echo "$package is not installed: a stand-in takes its place, which is enough for an engine without HTTP and files"
    export PYTHONPATH="$PYTHONPATH:$PWD/benchmarks/gpu/stand_in/for_$package"
  fi
done
tests=0
if "$python" -c "import pytest" 2>/dev/null; then
  # Without the project's own settings, which ask for plugins that a bare machine lacks.
  "$python" -c "import xdist" 2>/dev/null && beside="-n 2 --dist loadfile" || beside=""
  timeout 150 "$python" -m pytest -c /dev/null --rootdir tests/gpu --confcutdir tests/gpu -p no:cacheprovider -p no:asyncio -q $beside \
    -m gpu tests/gpu
  tests=$?
else
  echo "pytest is not installed: tests/gpu is left out; the kernels are tried below"
fi
timeout 330 "$python" benchmarks/gpu "$@"
figures=$?
[[ $tests -eq 0 && $figures -eq 0 ]]

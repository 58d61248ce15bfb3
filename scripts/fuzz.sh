#!/usr/bin/env bash
# Runs fuzz targets for a while, one after the other: scripts/fuzz.sh 10s runs all, scripts/fuzz.sh 10s ./internal/record those of
# one package. Seeds alone are run by every go test. A package that imports much takes minutes to build for it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for_each=${1:?give a duration for each target, as 10s}
shift
failed=0
while IFS=: read -r file target; do
  package=./$(dirname "$file")
  if (($# > 0)) && [[ " $* " != *" $package "* ]]; then continue; fi
  echo "$package $target"
  # Go may end a target with "context deadline exceeded" when its time is over: that is no input that fails.
  out=$(go test -run '^$' -fuzz "^$target\$" -fuzztime "$for_each" "$package" 2>&1) && continue
  if grep -q "Failing input" <<<"$out" || ! grep -q "context deadline exceeded" <<<"$out"; then
    echo "$out"
    failed=1
  fi
done < <(git grep -oE "^func Fuzz[A-Za-z0-9_]+" -- "*_test.go" | sed "s/func //")
exit "$failed"

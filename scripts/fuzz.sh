#!/usr/bin/env bash
# Runs every fuzz target for a while, one after the other: scripts/fuzz.sh 10s
set -euo pipefail
cd "$(dirname "$0")/.."
for_each=${1:?give a duration for each target, as 10s}
failed=0
while IFS=: read -r file target; do
  package=./$(dirname "$file")
  echo "$package $target"
  go test -run '^$' -fuzz "^$target\$" -fuzztime "$for_each" "$package" || failed=1
done < <(git grep -oE "^func Fuzz[A-Za-z0-9_]+" -- "*_test.go" | sed "s/func //")
exit "$failed"

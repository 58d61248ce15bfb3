#!/usr/bin/env bash
# Plays the whole fault programme and adds up what it counted: scripts/faults.sh full, or with how long each tier is to go on, as
# scripts/faults.sh 1h
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
size=${1:-full}

sums=$(mktemp)
trap 'rm -f "$sums"' EXIT
export WAYBILL_FAULTS=$size WAYBILL_FAULTS_SUM=$sums CI=${CI:-true}

# A soak's tiers each go on for so long, and then work off and check what there is.
timeout=40m
least=(-faults 2000 -jobs 200000)
if [[ $size != full ]]; then
  timeout=0
  least=()
fi
failed=0
play() { # patience of go test, packages
  go test -count=1 -timeout "$timeout" "$@" || failed=1
}

play -p 1 ./test/fault/nemesis
play -p 1 ./test/fault/matrix
play -p 2 ./test/fault/powercut ./test/fault/linear ./test/fault/protocol
play -p 2 ./test/effects ./test/outbox ./test/topics ./test/fault
scripts/fuzz.sh "${WAYBILL_FUZZ:-5s}" ./internal/record ./internal/codec || failed=1
go run ./test/fault/sum "${least[@]}" "$sums" || failed=1
exit "$failed"

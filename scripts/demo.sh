#!/usr/bin/env bash
# Builds waybill and runs its demo. It needs Go; Redis it brings itself.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go build -o bin/waybill ./cmd/waybill
exec bin/waybill demo "$@"

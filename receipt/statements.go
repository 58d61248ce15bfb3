package receipt

import "embed"

//go:embed sql
var files embed.FS

const defaultTables = "waybill_"

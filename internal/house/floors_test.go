package house_test

import "strings"

const module = "github.com/waybillhq/waybill"

type floor int

// The floors, from low to high.
const (
	unlisted floor = iota
	pure
	stores
	machines
	door
	faces
	street
	testsOnly // imported by tests and by the suites in test/ only
)

func (f floor) String() string {
	return [...]string{"unlisted", "pure", "stores", "machines", "door", "faces", "street", "tests only"}[f]
}

// floors lists every package by its path within the module. A name that ends in
// a slash stands for all packages below it.
var floors = map[string]floor{
	"internal/boundary": pure,
	"internal/codec":    pure,
	"internal/record":   pure,

	"internal/devredis": stores,
	"internal/devsql":   stores,
	"internal/dialect":  stores,
	"internal/outside":  stores,
	"internal/store":    stores,

	"internal/await":  machines,
	"internal/batch":  machines,
	"internal/doctor": machines,
	"internal/keeper": machines,
	"internal/runner": machines,

	".":           door,
	"waybilltest": door,

	"history":            faces,
	"outbox":             faces,
	"outbox/pgxoutbox":   faces,
	"receipt":            faces,
	"receipt/pgxreceipt": faces,
	"topic":              faces,
	"web":                faces,

	"bench":             street,
	"bench/":            street,
	"cmd/":              street,
	"examples/":         street,
	"internal/database": street,
	"test/":             street,

	"internal/house":       testsOnly,
	"internal/store/model": testsOnly,
	"internal/redistest":   testsOnly,
	"internal/sqltest":     testsOnly,
}

// betweenMachines lists the only arrows allowed from one machine to another.
var betweenMachines = map[[2]string]bool{
	{"internal/await", "internal/batch"}:  true,
	{"internal/runner", "internal/batch"}: true,
}

// floorOf returns the floor of a package, given by its path within the module.
func floorOf(path string) floor {
	if f, ok := floors[path]; ok {
		return f
	}
	for prefix, f := range floors {
		if strings.HasSuffix(prefix, "/") && strings.HasPrefix(path, prefix) {
			return f
		}
	}
	return unlisted
}

// complaint says what is wrong with one package of the module importing
// another, or nothing.
func complaint(from, to string) string {
	low, high := floorOf(to), floorOf(from)
	switch {
	case low == unlisted || high == unlisted:
		return "" // told once for the package itself
	case low == testsOnly:
		if high == testsOnly || strings.HasPrefix(from, "test/") {
			return ""
		}
		return to + " is for tests only"
	case high < low:
		return "an upward arrow: " + high.String() + " to " + low.String()
	case high == machines && low == machines && !betweenMachines[[2]string{from, to}]:
		return "machines do not know each other"
	}
	return ""
}

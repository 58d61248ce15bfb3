package receipt

import "maps"

// Statements gives the texts of a dialect's statements, by the name of their file.
func Statements(d Dialect, tables string) map[string]string {
	return maps.Clone(statementsOf(d, tables))
}

package receipt

// Statements gives the texts of a dialect's statements, by the name of their file.
func Statements(d Dialect, tables string) map[string]string {
	return d.Statements(files, "sql", tables)
}

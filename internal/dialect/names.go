package dialect

import "strings"

// Plain says whether a name has only letters, digits, dots, underscores and those of more.
func Plain(name, more string) bool {
	for _, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("._"+more, c) {
			return false
		}
	}
	return true
}

// TablesOK says whether s may begin the names of tables: lower-case letters, digits and underscores, perhaps behind a
// schema and a dot.
func TablesOK(s string) bool {
	schema, rest, dotted := strings.Cut(s, ".")
	if !dotted {
		return s == "" || part(s)
	}
	return part(schema) && (rest == "" || part(rest))
}

func part(s string) bool {
	return s != "" && len(s) <= 40 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" && (s[0] < '0' || s[0] > '9')
}

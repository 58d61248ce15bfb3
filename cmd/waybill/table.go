package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// cell is one field of a table.
type cell struct{ text, colour string }

// printRows prints rows in aligned columns.
func (a *app) printRows(rows [][]cell) error {
	_, err := io.WriteString(a.stdout, a.rowsText(rows))
	return err
}

// rowsText are rows in aligned columns, two spaces between them, without trailing space.
// Columns whose cells are all numbers are aligned to the right.
func (a *app) rowsText(rows [][]cell) string {
	widths, right := measure(rows)
	var all, b strings.Builder
	for _, row := range rows {
		b.Reset()
		for i, c := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
			text := a.paint(a.stdout, c.colour, c.text)
			switch {
			case right[i]:
				text = gap + text
			case i < len(row)-1:
				text += gap
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(text)
		}
		all.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
	return all.String()
}

// measure gives the width of each column, and which ones hold numbers below a head, which is bold.
func measure(rows [][]cell) (widths []int, right []bool) {
	for n, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths, right = append(widths, 0), append(right, len(rows) > 1 && c.colour == bold)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
			right[i] = right[i] && (n == 0 || isNumber(c.text))
		}
	}
	return widths, right
}

func isNumber(s string) bool {
	return s == "-" || s != "" && strings.Trim(s, "0123456789.smhd") == ""
}

// leastFitted is the least width to which the last column is cut.
const leastFitted = 10

// fit cuts the last column so that no row is wider than a terminal's line; 0 = uncut.
func fit(rows [][]cell, line int) [][]cell {
	widths, _ := measure(rows)
	if line == 0 || len(widths) == 0 {
		return rows
	}
	last := len(widths) - 1
	for _, w := range widths[:last] {
		line -= w + 2
	}
	for _, row := range rows {
		if len(row) > last {
			row[last].text = fitted(row[last].text, max(line, leastFitted))
		}
	}
	return rows
}

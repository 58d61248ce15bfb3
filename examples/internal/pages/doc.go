// Package pages holds the test that keeps the code in the guides true: each piece is from a program that runs.
package pages

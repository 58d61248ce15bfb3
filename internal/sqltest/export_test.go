package sqltest

// Absent is what happens to a test of a database that is not installed.
var Absent = absent

package process

// ParseStat reads /proc/PID/stat.
func ParseStat(raw []byte) (int, bool) {
	g, ended := parseStat(raw)
	return int(g), ended
}

// GroupAlive tells whether a process group is there, and whether anything of it still runs.
func GroupAlive(pid int) (alive, runs bool) { return group(pid).alive(), group(pid).runs() }

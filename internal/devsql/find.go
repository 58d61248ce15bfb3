package devsql

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/dialect"
)

// programs are the paths of a server and of what makes its data directory.
type programs struct{ server, install string }

// Find reports whether the database's programs are installed, and the server's path.
func Find(d dialect.Dialect) (server string, ok bool) {
	p, err := find(d)
	return p.server, err == nil
}

func find(d dialect.Dialect) (programs, error) {
	switch d {
	case dialect.PostgreSQL:
		return findIn(postgresDirs(), []string{"postgres"}, []string{"initdb"})
	case dialect.MariaDB:
		return findIn(mariadbDirs(), []string{"mariadbd", "mysqld"}, []string{"mariadb-install-db"})
	}
	return programs{}, fmt.Errorf("%w: %s", ErrNoServer, d)
}

func findIn(dirs, servers, installers []string) (p programs, err error) {
	if p.server = first(dirs, servers); p.server == "" {
		return p, fmt.Errorf("%s: %w", servers[0], ErrMissing)
	}
	// On the PATH a link may lead to one version of several: what belongs to it lies beside the target.
	if target, err := filepath.EvalSymlinks(p.server); err == nil {
		dirs = append([]string{filepath.Dir(target)}, dirs...)
	}
	if p.install = first(dirs, installers); p.install == "" {
		return p, fmt.Errorf("%s: %w", installers[0], ErrMissing)
	}
	return p, nil
}

func first(dirs, names []string) string {
	for _, name := range names {
		for _, dir := range dirs {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
				return path
			}
		}
	}
	return ""
}

func pathDirs() []string { return filepath.SplitList(os.Getenv("PATH")) }

// postgresDirs: Debian keeps the server off the PATH, each version in a directory of its own. The newest comes first.
func postgresDirs() []string {
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
	version := func(dir string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir))) // 0, the last, if it is no number
		return n
	}
	slices.SortFunc(debian, func(a, b string) int { return version(b) - version(a) })
	return append(pathDirs(), debian...)
}

// mariadbDirs: the server lies where only root's PATH leads.
func mariadbDirs() []string {
	return append(pathDirs(), "/usr/sbin", "/usr/local/sbin", "/usr/libexec")
}

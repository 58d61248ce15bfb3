// Package devsql starts private database servers, PostgreSQL and MariaDB, for tests, measurements and examples. They
// listen on a unix socket in a temporary directory of their own, ask for no password and have no other data than what
// their caller puts in. It is not for production.
//
// A server is a child of the process that started it. On Linux the kernel ends it when that process ends, however that
// ends; its directory is removed then too, by a shell that waits for it. On other Unix systems a process that is
// killed leaves its servers behind.
//
// PostgreSQL refuses to run as root, so root starts servers as the account postgres or mysql, or nobody where there is
// none; the directory for temporary files must let it in.
package devsql

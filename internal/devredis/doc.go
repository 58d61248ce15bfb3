// Package devredis runs a Redis for development: a private redis-server or
// valkey-server child with an append-only file where one is on the PATH, an
// in-memory stand-in otherwise. It is for a laptop and for tests, not for
// production: no password, no replica, loopback only.
//
// [Start] is the whole of it for most callers. [Find], [Command] and [Process]
// are the layer below; internal/redistest uses it, so that children are
// handled in one place.
//
// # Limits of the in-memory server
//
// The stand-in is miniredis v2.40.0. Its answers were compared, command by
// command, with those of redis-server 7.0.15. What matters to scripts:
//
//   - A script that begins with "#!lua" is a syntax error, in EVAL and in
//     SCRIPT LOAD. HELLO nevertheless claims version 8.4.0 (server
//     "miniredis"), so support for headers has to be tried, not derived from
//     the version.
//   - All Lua values of a running script share 5,120 slots: unpack of about
//     5,000 values at most, 2,550 when they pass through a vararg function,
//     table.concat of about 2,500, and calls nested 255 deep.
//     Redis allows unpack of nearly 8,000.
//   - A variable number 200 in one function is a compile error; 180 work.
//   - tonumber knows neither "1e3" nor "inf" nor "nan", and math.huge prints
//     as 1.7976931348623157e+308. string.format('%x', s) of a string s prints
//     its bytes. tostring of integers from 1e15 on prints all digits, where
//     Redis prints 1.7644608001235e+15. Fractions print at their shortest:
//     ZSCORE gives 0.1, where Redis 7.0 gives 0.10000000000000001.
//   - The libraries struct, cmsgpack and bit are missing; so are the pattern
//     item %f, redis.acl_check_cmd, redis.REPL_* and redis.REDIS_VERSION*
//     (reading the last two gives nil). cjson encodes an empty table as [].
//   - An error that leaves a script, by error() or by a failed redis.call,
//     arrives as "ERR Error compiling script (new function): ..." whatever it
//     was. Errors that a script returns (redis.error_reply, {err = ...}) and
//     those that redis.pcall catches arrive unchanged.
//   - A blocking command inside a script waits, and lets other clients' commands
//     run in the middle of the script. Redis does not wait.
//   - A script takes about 0.5 ms and scripts do not run in parallel.
//   - EVALSHA takes the digest in lower case only.
//
// Commands that are missing or differ: CONFIG, ROLE, ACL, SLOWLOG, LATENCY,
// LASTSAVE, RESET, DEBUG, SORT, SUBSTR, WAITAOF, BLMPOP, SPUBLISH, FUNCTION,
// SCRIPT KILL, ZRANGESTORE, XSETID and XGROUP SETID (a script that moves a
// consumer group fails) are unknown. XGROUP CREATE refuses ENTRIESREAD. CLIENT
// knows no ID, LIST, KILL or NO-EVICT, OBJECT no ENCODING. INFO answers without
// a section and for "clients" and "stats" only; it holds no version, role or
// memory, and two sections at once are an error. XINFO STREAM gives only the
// length and last ID, the lag of XINFO GROUPS is wrong. COMMAND INFO ignores its
// arguments. There is no maxmemory, no eviction, no persistence and no
// replication.
//
// What was doubted and works as in Redis: TIME in scripts, string.format
// '%011x' up to 2^47 and '%.0f' up to 2^53, numbers as arguments of redis.call,
// math.random, false for nil in HMGET and MGET, HRANDFIELD, ZMSCORE, LPOS, ZRANK,
// ZADD with XX, GT, LT, CH and INCR, ZRANGE and ZRANGEBYSCORE with LIMIT,
// PEXPIRE in scripts, redis.pcall of PUBLISH, BLPOP with a fraction of a second
// (also when a script pushes), the text of NOSCRIPT, EXISTS and UNLINK of many,
// SETRANGE, GETRANGE, HINCRBY, SCAN with MATCH, COUNT and TYPE, XADD, XRANGE,
// XTRIM, effects of a failed script that stay.
//
// TTLs are moved forward by a goroutine, since miniredis does not age keys by
// itself: a key expires up to 100 ms early or late, later with more than about
// 20,000 keys.
package devredis

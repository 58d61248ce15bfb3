// Package house keeps the order of the house: packages stand on floors and
// import downwards only.
//
//	street    cmd, test, examples, bench  programs and suites
//	faces     receipt, web                what stands beside the door
//	door      waybill, waybilltest        what users import
//	machines  batch, runner, keeper ...   each does one thing, none knows another
//	stores    store, dialect, devredis    talk to Redis and to databases
//	pure      record                      no input, no output
//
// Its test lists all imports with the go command and fails on an upward arrow,
// on a machine that imports another, and on a dependency of the root package
// besides go-redis. There is no code to import. A new package is entered in the
// table floors.
package house

package waybill

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/codec"
)

// AcceptOld lets handlers of k run jobs whose payload has an older shape: one enqueued with that version is decoded as
// Old, and up makes it the arguments of today. Jobs of kinds declared without a Version have version 0. A job
// whose version is older and not accepted is dead, and its payload kept: requeue it once it is known. An error
// of up is treated likewise. A job whose version is newer than the kind's is put off for a minute, and no failure is
// counted: in a rolling deploy, a worker that knows it comes soon.
//
// Call it beside the declaration of the kind, before workers run; it holds for all copies made with On too. It panics
// where version is negative, the kind's own or above it, or was given before, and where k is not of this package.
func AcceptOld[Old, In any](k Typed[In], version int, up func(Old) (In, error)) {
	shaped, ok := k.(interface {
		accept(version int, read func([]byte) (In, error))
	})
	if !ok {
		panic(fmt.Sprintf("waybill: accept old payload of kind %q: it is not made by Define or DefineResult", k.Name()))
	}
	shaped.accept(version, func(payload []byte) (In, error) {
		var old Old
		if err := codec.Decode(payload, &old); err != nil {
			var none In
			return none, err
		}
		return up(old)
	})
}

// shapes are the older shapes of a kind's payload, by version. All copies of the kind share them.
type shapes[In any] struct {
	mu   sync.RWMutex
	read map[int]func([]byte) (In, error)
}

func (k *kind[In]) accept(version int, read func([]byte) (In, error)) {
	k.older.mu.Lock()
	defer k.older.mu.Unlock()
	if version < 0 || version >= k.o.Version {
		panic(fmt.Sprintf("waybill: accept old payload of kind %q: version %d is not older than the kind's, %d", k.name, version, k.o.Version))
	}
	if k.older.read[version] != nil {
		panic(fmt.Sprintf("waybill: accept old payload of kind %q: version %d is accepted already", k.name, version))
	}
	if k.older.read == nil {
		k.older.read = map[int]func([]byte) (In, error){}
	}
	k.older.read[version] = read
}

// newerTime is how long a job of a newer version is put off.
const newerTime = time.Minute

// newerVersion says that a worker is older than a job.
type newerVersion struct{ version, known int }

func (e *newerVersion) Error() string {
	return fmt.Sprintf("payload version %d is newer than this worker's, %d: update it", e.version, e.known)
}

// decode reads a payload of any version that is known.
func (k *kind[In]) decode(version int, payload []byte) (args In, err error) {
	if version == k.o.Version {
		err = codec.Decode(payload, &args)
		return args, err
	}
	k.older.mu.RLock()
	read, known := k.older.read[version], slices.Sorted(maps.Keys(k.older.read))
	k.older.mu.RUnlock()
	switch {
	case read != nil:
		return read(payload)
	case version > k.o.Version:
		return args, &newerVersion{version, k.o.Version}
	}
	return args, fmt.Errorf("its version is %d: known are %v", version, append(known, k.o.Version))
}

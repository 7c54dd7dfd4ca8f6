// Package nestline reads the files of nestline: filters, expiring filters and maplets of every width. It is written in Go
// alone and needs no other package. It writes nothing.
//
//	filter, err := nestline.Open("words.nest")
//	if err != nil {
//		return err
//	}
//	if filter.MayContainString("user:17") {
//		// Look in the database.
//	}
//
// A []byte and a string with the same bytes are the same key. Integers are keys of another kind, and hashes that the
// caller made are a third: ask as the writer of the file inserted. The command nestline inserts lines as strings.
//
// All three types have the methods MayContain and Count. Any number of goroutines may ask at once. Questions allocate no
// memory, but for what they append to a slice.
package nestline

import (
	"fmt"
	"unsafe"
)

// Hash is the 64-bit hash of a key: by HashBytes, HashString or HashUint64 of the filter that is asked, or the caller's own
// for keys that were inserted as hashes.
type Hash uint64

// FormatError says from which byte on a file is wrong, and why.
type FormatError struct {
	Offset uint64
	Cause  string
}

// Error returns both in a sentence.
func (e *FormatError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Cause) }

// Header is what the header of a file says.
type Header struct {
	// Bits of a fingerprint, and of a maplet's value or an expiring filter's death.
	Bits, ValueBits int
	// Blocks of 64 bytes, slots that are taken, and keys that it is promised to hold: now, and until which it doubles.
	Blocks, Keys, Capacity, MaxCapacity uint64
	// How often it has doubled, and whether it was made for keys that are erased while others are inserted.
	Growth    int
	TurnsOver bool
	// Seed of the hash of integers and strings.
	Seed uint64
	// Of an expiring filter: ticks that a key lives at least, and the tick at which it was saved.
	Life int
	Tick uint64
}

// Filter is a set of keys: of each key it says that it is certainly absent or may be present.
type Filter struct{ table }

// Open reads the file of a filter and checks all of it. Where its bytes are wrong, the error wraps a *FormatError.
func Open(path string) (*Filter, error) { return open[Filter](path, filter) }

// Parse does the same for the bytes of a file, which may be a mapping of it. The filter uses them where they are, so they
// must not change any more.
func Parse(file []byte) (*Filter, error) { return parse[Filter](file, filter) }

// ExpiringFilter is a set of keys, each of which it forgets after its life. Its time is a number of ticks, which the program
// that wrote it moved on. It answers for the tick at which it was saved.
type ExpiringFilter struct{ table }

// OpenExpiring is Open for an expiring filter.
func OpenExpiring(path string) (*ExpiringFilter, error) { return open[ExpiringFilter](path, expiring) }

// ParseExpiring is Parse for an expiring filter.
func ParseExpiring(file []byte) (*ExpiringFilter, error) {
	return parse[ExpiringFilter](file, expiring)
}

// At returns the filter as it answers at a later tick, at which more keys are dead. An earlier one than that of the file
// counts as that.
func (f ExpiringFilter) At(tick uint64) *ExpiringFilter {
	if later := tick - f.header.Tick; later < 1<<63 {
		f.leastLeft = 1 + min(later, 15)
	}
	return &f
}

// TicksLeft returns for how many ticks the key with this hash is found, the present one included: at most 15, and 0 for a
// key that is not found.
func (f *ExpiringFilter) TicksLeft(h Hash) (ticks int) {
	var room [16]uint64
	for _, death := range f.values(room[:0], h) {
		if left := int((death-f.header.Tick)&15 - f.leastLeft + 1); left > ticks {
			ticks = left
		}
	}
	return ticks
}

// Maplet carries values with keys.
type Maplet struct{ table }

// OpenMaplet is Open for a maplet.
func OpenMaplet(path string) (*Maplet, error) { return open[Maplet](path, maplet) }

// ParseMaplet is Parse for a maplet.
func ParseMaplet(file []byte) (*Maplet, error) { return parse[Maplet](file, maplet) }

// Find appends the candidates for the key to values: at most 16, all values of the key among them, in no order. If there
// are none, the key is certainly absent.
func (m *Maplet) Find(values []uint64, key []byte) []uint64 {
	return m.values(values, m.HashBytes(key))
}

// FindString is Find for a string.
func (m *Maplet) FindString(to []uint64, key string) []uint64 { return m.values(to, m.HashString(key)) }

// FindUint64 is Find for a key that was inserted as an integer.
func (m *Maplet) FindUint64(to []uint64, key uint64) []uint64 { return m.values(to, m.HashUint64(key)) }

// FindHash is Find for a key with this hash.
func (m *Maplet) FindHash(values []uint64, h Hash) []uint64 { return m.values(values, h) }

// Len returns how many keys the file holds: each copy counts, each pair of a maplet, and dead keys that were not swept.
func (t *table) Len() int { return int(t.header.Keys) }

// Header returns what the header of the file says.
func (t *table) Header() Header { return t.header }

// MayContain says whether the key may be there.
func (t *table) MayContain(key []byte) bool { return t.MayContainHash(t.HashBytes(key)) }

// MayContainString is MayContain for a string.
func (t *table) MayContainString(key string) bool { return t.MayContainHash(t.HashString(key)) }

// MayContainUint64 is MayContain for a key that was inserted as an integer.
func (t *table) MayContainUint64(key uint64) bool { return t.MayContainHash(t.HashUint64(key)) }

// MayContainHash is MayContain for a key with this hash.
func (t *table) MayContainHash(h Hash) bool { return t.has(t.locate(h)) }

// MayContainAll appends the answer for each key to found. Where the file is larger than the caches, many keys at once
// are faster than one at a time: their memory is fetched together.
func (t *table) MayContainAll(found []bool, keys [][]byte) []bool {
	return batch(t, found, keys, t.HashBytes)
}

// MayContainStrings is MayContainAll for strings.
func (t *table) MayContainStrings(found []bool, keys []string) []bool {
	return batch(t, found, keys, t.HashString)
}

// MayContainUint64s is MayContainAll for keys that were inserted as integers.
func (t *table) MayContainUint64s(found []bool, keys []uint64) []bool {
	return batch(t, found, keys, t.HashUint64)
}

// MayContainHashes is MayContainAll for keys with these hashes.
func (t *table) MayContainHashes(found []bool, keys []Hash) []bool {
	return batch(t, found, keys, func(h Hash) Hash { return h })
}

// Count returns how many copies of the key with this hash there are, those of other keys that look the same included.
func (t *table) Count(h Hash) int {
	var room [16]uint64
	return len(t.values(room[:0], h))
}

// HashBytes returns the hash of a key.
func (t *table) HashBytes(key []byte) Hash { return Hash(xxh3(key, t.header.Seed)) }

// HashString returns the hash of a string: of its bytes where they are, since to copy them takes longer than the hash.
func (t *table) HashString(key string) Hash {
	return t.HashBytes(unsafe.Slice(*(**byte)(unsafe.Pointer(&key)), len(key)))
}

// HashUint64 returns the hash of a key that was inserted as an integer.
func (t *table) HashUint64(key uint64) Hash { return Hash(mix(key, t.before, t.multiplier)) }

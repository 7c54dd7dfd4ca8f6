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
// All three types have the methods MayContain, MayContainHashes and Count. Any number of goroutines may ask at once.
// Questions allocate no memory, but for what they append to a slice.
package nestline

import (
	"fmt"
	"unsafe"
)

// Hash is the 64-bit hash of a key: by HashBytes, HashString or HashUint64 of the file that is asked, or the caller's own
// for keys that were inserted as hashes.
type Hash uint64

// FormatError says from which byte on a file is wrong, and why.
type FormatError struct {
	Offset uint64
	Cause  string
}

// Error returns both in a sentence.
func (e *FormatError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Cause) }

// Filter is a set of keys: of each key it says that it is certainly absent or may be present.
type Filter struct{ table }

// Open reads the file of a filter and checks all of it. Where its bytes are wrong, the error wraps a *FormatError. Memory for
// more than the first 4 KiB is taken when they are right.
func Open(path string) (*Filter, error) { return open[Filter](path, filter) }

// Parse does the same for the bytes of a file, which may be a mapping of it. The filter uses them where they are, so they
// must not change any more.
func Parse(file []byte) (*Filter, error) { return parse[Filter](file, filter) }

// ExpiringFilter is a set of keys, each of which it forgets after its life. Its time is a number of ticks, which the program
// that wrote it moved on. Questions are about the tick at which it was saved, but for TicksLeft.
type ExpiringFilter struct{ table }

// OpenExpiring is Open for an expiring filter.
func OpenExpiring(path string) (*ExpiringFilter, error) { return open[ExpiringFilter](path, expiring) }

// ParseExpiring is Parse for an expiring filter.
func ParseExpiring(file []byte) (*ExpiringFilter, error) {
	return parse[ExpiringFilter](file, expiring)
}

// Tick returns the tick at which it was saved.
func (f *ExpiringFilter) Tick() uint64 { return f.tick }

// TicksLeft returns for how many ticks from this one on the key with this hash is found: at most 15, and 0 for a key that is
// not found. A tick before that of the file counts as that.
func (f *ExpiringFilter) TicksLeft(h Hash, tick uint64) (ticks int) {
	passed := tick - f.tick
	if passed >= 1<<63 {
		passed = 0
	}
	f.find(h, func(death uint64) {
		if left := int((death-f.tick)&15) - int(min(passed, 15)); left > ticks {
			ticks = left
		}
	})
	return ticks
}

// Maplet carries values with keys.
type Maplet struct{ table }

// OpenMaplet is Open for a maplet.
func OpenMaplet(path string) (*Maplet, error) { return open[Maplet](path, maplet) }

// ParseMaplet is Parse for a maplet.
func ParseMaplet(file []byte) (*Maplet, error) { return parse[Maplet](file, maplet) }

// Find appends the candidates for the key: at most 16, all values of the key among them, in no order. If there are none, the
// key is certainly absent.
func (m *Maplet) Find(to []uint64, key []byte) []uint64 { return m.values(to, m.HashBytes(key)) }

// FindString is Find for a string.
func (m *Maplet) FindString(to []uint64, key string) []uint64 { return m.values(to, m.HashString(key)) }

// FindHash is Find for a key with this hash.
func (m *Maplet) FindHash(to []uint64, h Hash) []uint64 { return m.values(to, h) }

// Len returns how many keys the file holds: each copy counts, each pair of a maplet, and dead keys that were not swept.
func (t *table) Len() int { return int(t.keys) }

// MayContain says whether the key may be there.
func (t *table) MayContain(key []byte) bool { return t.MayContainHash(t.HashBytes(key)) }

// MayContainString is MayContain for a string.
func (t *table) MayContainString(key string) bool { return t.MayContainHash(t.HashString(key)) }

// Count returns how many copies of the key with this hash there are, those of other keys that look the same included.
func (t *table) Count(h Hash) int { return t.find(h, nil) }

// HashBytes returns the hash of a key.
func (t *table) HashBytes(key []byte) Hash { return Hash(xxh3(key, t.seed)) }

// HashString returns the hash of a string: of its bytes where they are, since to copy them takes longer than the hash.
func (t *table) HashString(key string) Hash {
	return t.HashBytes(unsafe.Slice(*(**byte)(unsafe.Pointer(&key)), len(key)))
}

// HashUint64 returns the hash of a key that was inserted as an integer.
func (t *table) HashUint64(key uint64) Hash { return Hash(mix(key, t.before, t.multiplier)) }

package nestline

import (
	"math/bits"
)

const mixA, mixB = 0x3ff5c6bd6e2a43f1, 0xaa4deb21cc59b9f1

func mix(x, a, m uint64) uint64 { return step(step(x^a, 29, m), 32, mixB) }

// By what slots of later segments are rotated; not of those that have one slot each.
var rotations = [8]uint64{0, 0xddc9, 0x6063, 0x874b, 0xa925}

// table has the blocks and what a lookup needs to know. It is never changed.
type table struct {
	layout
	header             Header
	blocks             []byte
	bases, growth      uint64
	before, multiplier uint64 // of the hash of integers
	alternateBits      uint64 // of fingerprint and bucket offset: those that determine the alternate
	starts, shift      uint64 // where segments 1 to 4 begin, in lanes; by how much a slot is shifted to become a byte
	exact              bool   // the lowest byte of a fingerprint is all of it, and no slot dies
	leastLeft          uint64 // ticks that a slot must have left, or it is dead; 0 where none dies
}

// spot is where a key is if it is there: fingerprint, bucket offset and home block.
type spot struct{ print, offset, home uint64 }

func (t *table) block(i uint64) *[64]byte { return (*[64]byte)(t.blocks[64*i:]) }

func (t *table) locate(h Hash) spot {
	base, rest := bits.Mul64(uint64(h), t.bases)
	rest >>= 32
	print := rest >> ((32 - t.bits) & 63)
	if print&0xff == 0 {
		print++
	}
	offset := rest >> ((16 - t.bits) & 63) & 0xffff * t.perSegment >> 16
	return spot{print, offset, base<<(t.growth&63) + print>>((t.bits-t.growth)&63)}
}

// alternate returns the other block of the key, or its home if it has no other.
func (t *table) alternate(s spot) uint64 {
	base, child := s.home>>(t.growth&63), s.home&(1<<(t.growth&63)-1)
	x := (s.print*16 + s.offset) & t.alternateBits * 0x93f632e505cee36f
	other, _ := bits.Mul64(step(x, 32, 0x5494fc2a78752677), t.bases)
	if other < base {
		other += t.bases
	}
	return (other-base)<<(t.growth&63) + child
}

// lanes has the same number in each of four lanes of 16 bits.
// has says whether the home block of the key, or the alternate that the mark of home leads to, may hold it. It compares the
// lowest byte of fingerprints first, without a branch that would be mispredicted: of segment 0 and of segments 1 to 4, whose
// slots are in four lanes of 16 bits. Their products, of up to 32 bits, come in two pairs.
func (t *table) has(s spot) bool {
	const lanes, even = 0x0001000100010001, 0x0000ffff0000ffff
	r, low := t.perSegment, s.print&0xff
	slots := s.print*(0xddc9|0x874b<<32)&even*r>>16&even | s.print*(0x6063|0xa925<<32)&even*r&^even
	slots += s.offset * lanes
	slots = (slots - (slots+(16-r)*lanes)>>4&lanes*r + t.starts) << (t.shift & 63)
	for i, last := s.home, false; ; i, last = t.alternate(s), true {
		b := t.block(i)
		hit := ((uint64(b[s.offset<<(t.shift&63)&63]) ^ low) - 1) | ((uint64(b[slots&63]) ^ low) - 1) |
			((uint64(b[slots>>16&63]) ^ low) - 1) | ((uint64(b[slots>>32&63]) ^ low) - 1)
		if t.segments > 4 {
			hit |= ((uint64(b[slots>>48&63]) ^ low) - 1) | t.segments/8<<63 // of 8 segments all are looked at below
		}
		if hit >>= 63; hit > 0 && !t.exact {
			hit, _ = t.find(b, s, 0)
		}
		if hit > 0 {
			return true
		}
		if last || low > uint64(b[60]) {
			return false
		}
	}
}

// find returns the value or death of the first slot, in segment j or a later one, that holds the fingerprint and is not dead,
// and the segment after it; 0 if there is none.
func (t *table) find(b *[64]byte, s spot, j uint64) (next, value uint64) {
	for ; j < t.segments; j++ {
		index := s.offset + s.print*rotations[j&7]&0xffff*t.perSegment>>16 - t.perSegment
		slot := j*t.perSegment + index + t.perSegment&uint64(int64(index)>>63) // the index modulo perSegment
		if b[slot<<(t.shift&63)&63] == byte(s.print) {
			if print, value := t.read(b, slot); print == s.print && (value-t.header.Tick)&15 >= t.leastLeft {
				return j + 1, value
			}
		}
	}
	return 0, 0
}

// values appends the value or death of each slot that holds the fingerprint of the key and is not dead.
func (t *table) values(to []uint64, h Hash) []uint64 {
	s := t.locate(h)
	blocks, n := [2]uint64{s.home, t.alternate(s)}, 1
	if blocks[1] != s.home && byte(s.print) <= t.block(s.home)[60] {
		n = 2
	}
	for _, i := range blocks[:n] {
		for next, value := t.find(t.block(i), s, 0); next > 0; next, value = t.find(t.block(i), s, next) {
			to = append(to, value)
		}
	}
	return to
}

// batch locates many keys, which reads their blocks, before it looks for the first: so memory is waited for once.
func batch[K any](t *table, found []bool, keys []K, hash func(K) Hash) []bool {
	var hashes [64]Hash
	var spots [64]spot
	for len(keys) > 0 {
		n := min(uint64(len(keys)), uint64(len(spots)))
		for i, key := range keys[:n] {
			hashes[i] = hash(key)
		}
		for i, h := range hashes[:n] {
			spots[i] = t.locate(h)
			found = append(found, t.blocks[64*spots[i].home+60] > 0)
		}
		for i, s := range spots[:n] {
			found[len(found)-int(n)+i] = t.has(s)
		}
		keys = keys[n:]
	}
	return found
}

package nestline

import (
	"math/bits"
)

const (
	mixA, mixB  = 0x3ff5c6bd6e2a43f1, 0xaa4deb21cc59b9f1
	lanes, even = 0x0001000100010001, 0x0000ffff0000ffff // a number in each of four lanes; the lanes 0 and 2
)

func mix(x, a, m uint64) uint64 { return step(step(x^a, 29, m), 32, mixB) }

// By what slots of later segments are rotated; not of those that have one slot each.
var rotations = [8]uint64{0, 0xddc9, 0x6063, 0x874b, 0xa925}

// table has the blocks and what a lookup needs to know. It is never changed.
type table struct {
	layout
	blocks                   [][64]byte
	keys, bases, growth      uint64
	seed, before, multiplier uint64        // of the hash of strings, then of integers
	tick, leastLeft          uint64        // of the file; that a slot must have left, or it is dead: 0 where none dies
	printShift, offsetShift  uint64        // what is above fingerprint and bucket offset
	alternateBits            uint64        // of fingerprint and bucket offset: those that determine the alternate
	slotBytes, segmentBytes  uint64        // from the lowest byte of a slot to that of the next; of a segment
	wraps, starts            uint64        // 16 less segmentBytes, and where segments 1 to 4 begin, in lanes
	rotated                  *[1024]uint64 // rotate of each fingerprint, if there are few
	exact                    bool          // the lowest byte of a fingerprint is all of it, and no slot dies
}

// spot is where a key is if it is there: fingerprint, bucket offset and home block.
type spot struct {
	print, offset uint64
	home          *[64]byte
	hash          Hash
}

// home returns the home block: the number of a block is that of its base and, below, that of the child.
func (t *table) home(h Hash) *[64]byte {
	block, _ := bits.Mul64(uint64(h), uint64(len(t.blocks)))
	return &t.blocks[block]
}

func (t *table) locate(h Hash) spot {
	rest := uint64(h) * t.bases
	print := rest >> (t.printShift & 63)
	if print&0xff == 0 {
		print++
	}
	return spot{print, rest >> (t.offsetShift & 63) & 0xffff * t.perSegment >> 16, t.home(h), h}
}

// alternate returns the other block of the key, or its home if it has no other.
func (t *table) alternate(s spot) *[64]byte {
	x := (s.print*16 + s.offset) & t.alternateBits * 0x93f632e505cee36f
	other, _ := bits.Mul64(step(x, 32, 0x5494fc2a78752677), t.bases)
	base, rest := bits.Mul64(uint64(s.hash), t.bases)
	if other < base {
		other += t.bases
	}
	return &t.blocks[(other-base)<<(t.growth&63)+rest>>1>>((63-t.growth)&63)]
}

// rotate returns by how many bytes the slots of segments 1 to 4 are rotated, in lanes. Their products, of up to 32 bits, come in two
// pairs.
func (t *table) rotate(print uint64) uint64 {
	r := t.perSegment
	turns := print*(0xddc9|0x874b<<32)&even*r>>16&even | print*(0x6063|0xa925<<32)&even*r&^even
	return turns * t.slotBytes
}

// MayContainHash is MayContain for a key with this hash. It compares the lowest byte of fingerprints first, without a branch
// that would be mispredicted: of segment 0 and of segments 1 to 4, whose bytes are in four lanes of 16 bits.
func (t *table) MayContainHash(h Hash) bool {
	s := t.locate(h)
	b, low, first := s.home, s.print&0xff, s.offset*t.slotBytes*lanes
	slots := first
	if t.rotated != nil {
		slots += t.rotated[s.print&1023]
	} else {
		slots += t.rotate(s.print)
	}
	slots += t.starts - (slots+t.wraps)>>4&lanes*t.segmentBytes
	hit := ((uint64(b[first&63]) ^ low) - 1) | ((uint64(b[slots&63]) ^ low) - 1) |
		((uint64(b[slots>>16&63]) ^ low) - 1) | ((uint64(b[slots>>32&63]) ^ low) - 1)
	if t.segments > 4 {
		hit |= ((uint64(b[slots>>48&63]) ^ low) - 1) | t.segments/8<<63 // of 8 segments all are looked at below
	}
	if int64(hit) < 0 && (t.exact || t.holds(b, s)) {
		return true
	}
	return low <= uint64(b[60]) && t.holds(t.alternate(s), s)
}

func (t *table) holds(b *[64]byte, s spot) bool {
	next, _ := t.find(b, s, 0)
	return next > 0
}

// find returns the value or death of the first slot, in segment j or a later one, that holds the fingerprint and is not dead,
// and the segment after it; 0 if there is none.
func (t *table) find(b *[64]byte, s spot, j uint64) (next, value uint64) {
	for ; j < t.segments; j++ {
		index := s.offset + s.print*rotations[j&7]&0xffff*t.perSegment>>16 - t.perSegment
		slot := j*t.perSegment + index + t.perSegment&uint64(int64(index)>>63) // the index modulo perSegment
		if b[slot*t.slotBytes&63] == byte(s.print) {
			if print, value := t.read(b, slot); print == s.print && (value-t.tick)&15 >= t.leastLeft {
				return j + 1, value
			}
		}
	}
	return 0, 0
}

// values appends the value or death of each slot that holds the fingerprint of the key and is not dead.
func (t *table) values(to []uint64, h Hash) []uint64 {
	s := t.locate(h)
	blocks, n := [2]*[64]byte{s.home, t.alternate(s)}, 1
	if blocks[1] != blocks[0] && byte(s.print) <= blocks[0][60] {
		n = 2
	}
	for _, b := range blocks[:n] {
		for next, value := t.find(b, s, 0); next > 0; next, value = t.find(b, s, next) {
			to = append(to, value)
		}
	}
	return to
}

// MayContainHashes appends the answer for each hash to found. Where the file is larger than the caches, many at once are
// faster than one at a time: it reads the blocks of 64 before it looks for the first, so memory is waited for once.
func (t *table) MayContainHashes(found []bool, hashes []Hash) []bool {
	for len(hashes) > 0 {
		n, start := min(64, uint64(len(hashes))), len(found)
		for _, h := range hashes[:n] {
			found = append(found, t.home(h)[60] > 0)
		}
		for i, h := range hashes[:n] {
			found[start+i] = t.MayContainHash(h)
		}
		hashes = hashes[n:]
	}
	return found
}

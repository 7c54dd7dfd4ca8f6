package nestline

import (
	"math/bits"
)

const (
	mixA, mixB  = 0x3ff5c6bd6e2a43f1, 0xaa4deb21cc59b9f1
	lanes, even = 0x0001000100010001, 0x0000ffff0000ffff // a number in each of four lanes; the lanes 0 and 2
)

func mix(x, a, m uint64) uint64 { return step(step(x^a, 29, m), 32, mixB) }

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

// spot is where a key is if it is there. More than four members would not be in registers.
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

// bytes returns which byte of a block the slot of segment 0 begins with, and those of segments 1 to 4, in lanes. `turned` is
// that of the fingerprint.
func (t *table) bytes(s spot, turned uint64) (first, others uint64) {
	first = s.offset * t.slotBytes * lanes
	others = first + turned
	return first, others + t.starts - (others+t.wraps)>>4&lanes*t.segmentBytes
}

// turned returns by how many bytes the slots of segments 1 to 4 are rotated, in lanes.
func (t *table) turned(print uint64) uint64 {
	if t.rotated != nil {
		return t.rotated[print&1023]
	}
	return t.rotate(print)
}

// rotate does the same without the table. The products, of up to 32 bits, come in two pairs. It is not inlined, so that those
// who call it can be.
//
//go:noinline
func (t *table) rotate(print uint64) uint64 {
	r := t.perSegment
	turns := print*(0xddc9|0x874b<<32)&even*r>>16&even | print*(0x6063|0xa925<<32)&even*r&^even
	return turns * t.slotBytes
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

// MayContainHash is MayContain for a key with this hash. Most absent keys end after a look at the lowest bytes in their home,
// without a branch that would be mispredicted.
func (t *table) MayContainHash(h Hash) bool {
	s := t.locate(h)
	b, low := s.home, s.print&0xff
	first, others := t.bytes(s, t.turned(s.print))
	hit := ((uint64(b[first&63]) ^ low) - 1) | ((uint64(b[others&63]) ^ low) - 1) |
		((uint64(b[others>>16&63]) ^ low) - 1) | ((uint64(b[others>>32&63]) ^ low) - 1)
	if t.segments > 4 {
		hit |= ((uint64(b[others>>48&63]) ^ low) - 1) | t.segments/8<<63 // of 8 segments all are looked at below
	}
	if int64(hit) < 0 && t.exact {
		return true
	}
	return (int64(hit) < 0 || low <= uint64(b[60])) && t.find(h, nil) > 0
}

// find calls found for the value or death of each slot that holds the fingerprint of the key and is not dead; it returns how
// many these are.
func (t *table) find(h Hash, found func(value uint64)) (count int) {
	s := t.locate(h)
	bytes := [8]uint64{5: 10, 12, 14}
	bytes[0], bytes[1] = t.bytes(s, t.turned(s.print))
	bytes[2], bytes[3], bytes[4] = bytes[1]>>16, bytes[1]>>32, bytes[1]>>48
	low, b := s.print&0xff, s.home
	for {
		match := uint64(0)
		for j, at := range bytes[:t.segments] {
			match |= ((uint64(b[at&63]) ^ low) - 1) >> 63 << (j & 63)
		}
		for ; match != 0; match &= match - 1 {
			slot := bytes[bits.TrailingZeros64(match)&7] & 63 >> (t.slotBytes >> 1)
			if print, value := t.read(b, slot); print == s.print && (value-t.tick)&15 >= t.leastLeft {
				count++
				if found != nil {
					found(value)
				}
			}
		}
		if b != s.home || low > uint64(b[60]) {
			return count
		}
		if b = t.alternate(s); b == s.home {
			return count
		}
	}
}

// values appends the value or death of each slot that find finds.
func (t *table) values(to []uint64, h Hash) []uint64 {
	t.find(h, func(value uint64) { to = append(to, value) })
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

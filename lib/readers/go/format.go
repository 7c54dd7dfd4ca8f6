package nestline

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"unsafe"
)

// What docs/FORMAT.md of nestline says about the bytes of a file.

const (
	pageBytes, blockBytes, sectionBytes = 4096, 64, 1 << 20
	filter, expiring, maplet            = "a filter", "an expiring filter", "a maplet"
)

// piece is where the slots of a block have some of their bits: slot 0 at bit `first` of the block, each next one `step`
// bits further. Slots from `wrap` on begin anew at first + width.
type piece struct{ first, step, width, wrap uint64 }

var (
	bytesEach  = piece{0, 8, 8, 64}
	pairsEach  = piece{0, 16, 16, 64}
	twelveBits = piece{0, 16, 12, 64}
	fourAbove  = piece{12, 16, 4, 64}
	nibbles    = piece{320, 8, 4, 20}
)

// layout is how the blocks of a width hold their slots: where they have fingerprints, and values or deaths.
type layout struct {
	kind                                  string
	bits, valueBits, segments, perSegment uint64
	print, value                          []piece // the lowest bits first
}

var layouts = map[uint64]layout{
	8:   {filter, 8, 0, 4, 15, []piece{bytesEach}, nil},
	9:   {filter, 9, 0, 4, 13, []piece{bytesEach, {416, 1, 1, 64}}, nil},
	10:  {filter, 10, 0, 4, 12, []piece{bytesEach, {384, 1, 1, 64}, {432, 1, 1, 64}}, nil},
	12:  {filter, 12, 0, 4, 10, []piece{bytesEach, nibbles}, nil},
	16:  {filter, 16, 0, 5, 6, []piece{pairsEach}, nil},
	40:  {expiring, 8, 4, 4, 10, []piece{bytesEach}, []piece{nibbles}},
	44:  {expiring, 12, 4, 5, 6, []piece{twelveBits}, []piece{fourAbove}},
	20:  {maplet, 20, 40, 8, 1, []piece{pairsEach, {448, 4, 4, 64}}, []piece{{128, 40, 40, 64}}},
	136: {maplet, 8, 4, 4, 10, []piece{bytesEach}, []piece{nibbles}},
	140: {maplet, 12, 4, 5, 6, []piece{twelveBits}, []piece{fourAbove}},
	264: {maplet, 8, 8, 5, 6, []piece{{0, 16, 8, 64}}, []piece{{8, 16, 8, 64}}},
	268: {maplet, 12, 8, 4, 6, []piece{twelveBits}, []piece{fourAbove, {384, 4, 4, 64}}},
	528: {maplet, 16, 16, 5, 3, []piece{pairsEach}, []piece{{240, 16, 16, 64}}},
}

func min(a, b uint64) uint64 {
	if a < b {
		return a
	}
	return b
}

// join reads pieces of a slot, the lowest bits first.
func join(pieces []piece, b *[64]byte, slot uint64) (number uint64) {
	shift := uint64(0)
	for i := range pieces {
		p := &pieces[i]
		bit := p.first + p.step*slot
		if slot >= p.wrap {
			bit += p.width - p.step*p.wrap
		}
		at := bit >> 3 &^ 7 // of a word of 64 bits, which has all of it, but for pieces of 40 bits
		if p.width == 40 {
			at = min(bit>>3, 56)
		}
		number |= u64(b[:], int(at)) >> ((bit - 8*at) & 63) & (1<<(p.width&63) - 1) << (shift & 63)
		shift += p.width
	}
	return number
}

// read returns the fingerprint of a slot and its value or death.
func (l *layout) read(b *[64]byte, slot uint64) (print, value uint64) {
	return join(l.print, b, slot), join(l.value, b, slot)
}

// limits are what a number of the file has to be within.
type limits struct {
	what                string
	at, is, least, most uint64
}

// firstWrong returns the first number that is outside its limits. Where one is wrong, those after it mean nothing.
func firstWrong(all ...limits) error {
	for _, l := range all {
		if l.is < l.least || l.is > l.most {
			return &FormatError{l.at, fmt.Sprintf("%s is %d, but must be from %d to %d", l.what, l.is, l.least, l.most)}
		}
	}
	return nil
}

// smallPlaces are of the fields of a header of version 1, with its length: where it has them, where version 2 has them, and
// in how many bytes.
var smallPlaces = [][3]uint64{{0, 0, 16}, {16, 16, 1}, {20, 18, 2}, {24, 32, 6}, {32, 17, 1}, {36, 20, 4}, {40, 24, 8},
	{48, 38, 6}, {56, 44, 6}, {64, 50, 6}, {80, 56, 4}, {84, 60, 4}, {88, 72, 8}, {96, 80, 8}, {104, 88, 32}, {4032, 64, 8}}

// asPage returns the first bytes of a file of this size as those of version 1, and how many the header has.
func asPage(start []byte, size uint64) ([]byte, uint64) {
	h := append(make([]byte, 0, pageBytes), start[:min(size, pageBytes)]...)[:pageBytes]
	if u32(h, 12) != 2 {
		return h, pageBytes
	}
	small := append([]byte{}, h[:128]...)
	headerBytes := uint64(64)
	if u32(small, 16)>>21 == 1 { // an expiring filter
		headerBytes = 128
	}
	copy(small[headerBytes-8:], make([]byte, 64)) // without the checksum and what follows
	h = make([]byte, pageBytes)
	for _, p := range smallPlaces {
		copy(h[p[0]:], small[p[1]:p[1]+p[2]])
	}
	return h, headerBytes
}

func notZero(b []byte) uint64 { return uint64(len(b) - bytes.Count(b, []byte{0})) }

func open[T Filter | ExpiringFilter | Maplet](path, kind string) (*T, error) {
	file, err := read(path, kind)
	if err != nil {
		return nil, err
	}
	t, err := parse[T](file, kind)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// read returns the bytes of a file, after a look at its header: whatever the file is, no memory is taken for another one.
func read(path, kind string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe has no size
		return io.ReadAll(f)
	}
	size := uint64(info.Size())
	file := make([]byte, min(size, pageBytes))
	if _, err = io.ReadFull(f, file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err = parseHeader(file, size, kind); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if size > math.MaxInt {
		return nil, fmt.Errorf("%s: a file of %d bytes is too large for this processor", path, size)
	}
	start := len(file)
	file = append(make([]byte, 0, size), file...)[:size]
	if _, err = io.ReadFull(f, file[start:]); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// header is what a file says of itself: its table, still without blocks, and where its parts are.
type header struct {
	table
	begin, mostLevel, marks, sums, end, life, swept uint64
}

// parseHeader checks the first bytes of a file of this size, in the order of section 6 of FORMAT.md.
func parseHeader(start []byte, size uint64, kind string) (*header, error) {
	h, begin := asPage(start, size)
	format, version, sum, is := u32(h, 12), u32(h, 16), uint64(0), uint64(0)
	if size >= begin {
		sum, is = xxh3(start[:begin-8], 0), u64(start, int(begin-8))
	}
	// Where a number is that version 1 has there.
	at := func(page uint64) uint64 {
		for _, p := range smallPlaces {
			if p[0] == page && format == 2 {
				return p[1]
			}
		}
		return page
	}
	if !bytes.HasPrefix(start, []byte("\x8eNST\r\n\x1a\n")) {
		return nil, &FormatError{0, "this is no nestline file: it begins with other bytes"}
	}
	if err := firstWrong(limits{"the byte order", 8, u32(h, 8), 0x01020304, 0x01020304},
		limits{"the format version", 12, format, 1, 2},
		limits{"the length of the file", size, size, begin, math.MaxInt64},
		limits{"the hash version", 16, version, 2, 4},
		limits{"the checksum of the header", begin - 8, is, sum, sum}); err != nil {
		return nil, err
	}
	t := table{layout: layouts[u32(h, 20)], bases: u64(h, 24), growth: u32(h, 32), seed: u64(h, 40), keys: u64(h, 48),
		tick: u64(h, 4032)}
	if t.kind != kind {
		return nil, &FormatError{at(20), fmt.Sprintf("the width is %d, which is none of %s", u32(h, 20), kind)}
	}
	mostLevel, blocks, capacity, maxCapacity := [3]uint64{0, 12, 15}[version-2], t.bases<<t.growth, u64(h, 56), u64(h, 64)
	t.printShift, t.offsetShift = 64-t.bits, 48-t.bits
	t.slotBytes, t.exact = t.print[0].step/8, t.bits == 8 && kind != expiring
	t.segmentBytes = t.perSegment * t.slotBytes
	t.wraps, t.starts = (16-t.segmentBytes)*lanes, t.segmentBytes*0x0004000300020001
	if t.bits <= 10 {
		t.rotated = new([1024]uint64)
		for print := range t.rotated {
			t.rotated[print] = t.rotate(uint64(print))
		}
	}
	t.before = mix(t.seed, mixB, mixA)
	t.multiplier = mix(t.before+t.seed, mixA, mixB) | 1
	t.alternateBits = [2]uint64{math.MaxUint64, 0xff0}[min(1, mostLevel)]
	doublings, life, marks, unusedAt, unused := t.bits-4, [2]uint64{}, uint64(0), uint64(80), notZero(h[80:4088])
	if kind == expiring {
		doublings, life, marks, t.leastLeft = 0, [2]uint64{1, 14}, (blocks+63)/64, 1
		unusedAt, unused = 104, notZero(h[104:4032])+notZero(h[4040:4088])
	}
	reserved := uint64(math.MaxUint32)
	if t.kind == filter {
		reserved = 0x80008000 // kinds of keys that have no meaning yet
	}
	slots, leastCapacity := blocks*t.segments*t.perSegment, uint64(1)
	if maxCapacity > capacity && t.growth == 0 {
		leastCapacity = slots / 2
	}
	most := min(slots<<(doublings-t.growth), 1<<40*t.segments*t.perSegment)
	sums := begin + blockBytes*(blocks+marks)
	end := sums + (blockBytes*(blocks+marks)+sectionBytes-1)/sectionBytes*8
	stated := u64(h, 72)
	if format == 2 {
		stated = end + 8
	}
	if err := firstWrong(limits{"the hash version of " + kind, 16, version, 2, 4 - 2*min(1, t.valueBits)},
		limits{"the growth", at(32), t.growth, 0, doublings},
		limits{"the number of base blocks", at(24), t.bases, 1 + 63*min(1, mostLevel), 1 << 40 >> t.growth},
		limits{"the number of keys", at(48), t.keys, 0, slots},
		limits{"the capacity", at(56), capacity, leastCapacity, slots},
		limits{"the maximal capacity", at(64), maxCapacity, 0, most},
		limits{"the life", at(80), u32(h, 80), life[0], life[1]},
		limits{"the number of waiting inserts", at(84), u32(h, 84), 0, 63},
		limits{"the number of ticks since the last exchange of marks", at(88), t.tick - u64(h, 88), 0, 15},
		limits{"the number of swept blocks", at(96), u64(h, 96), 0, blocks},
		limits{"a reserved number", at(36), u32(h, 36) & reserved, 0, 0},
		limits{"the number of reserved bytes from here on that are not 0", at(unusedAt), unused, 0, 0},
		limits{"the length in the header", 72, stated, end + 8, end + 8},
		limits{"the length of the file", min(size, end+8), size, end + 8, end + 8}); err != nil {
		return nil, err
	}
	return &header{t, begin, mostLevel, marks, sums, end, u32(h, 80), u64(h, 96)}, nil
}

// parse checks the header, and then all the rest in the order of that section.
func parse[T Filter | ExpiringFilter | Maplet](file []byte, kind string) (*T, error) {
	h, err := parseHeader(file, uint64(len(file)), kind)
	if err != nil {
		return nil, err
	}
	t, sums, end, blocks := &h.table, h.sums, h.end, h.bases<<h.growth
	sum := xxh3(file[sums:end], 0)
	err = firstWrong(limits{"the checksum of the checksums", end, u64(file, int(end)), sum, sum})
	for at := h.begin; err == nil && at < sums; at += sectionBytes {
		sum = xxh3(file[at:min(at+sectionBytes, sums)], 0)
		is := u64(file, int(sums+at/sectionBytes*8))
		err = firstWrong(limits{"the checksum of the blocks from here on", at, is, sum, sum})
	}
	t.blocks = unsafe.Slice((*[blockBytes]byte)(file[h.begin:]), blocks)
	behind := min(h.begin+blockBytes*blocks+blocks*min(h.marks, 1), sums) // next marks, which fill no block
	if err == nil {
		err = firstWrong(limits{"the number of bytes behind the next marks that are not 0", behind, notZero(file[behind:sums]), 0, 0})
	}
	if err == nil {
		err = t.checkBlocks(h.begin, h.mostLevel, h.life, h.swept)
	}
	if err != nil {
		return nil, err
	}
	return &T{*t}, nil
}

func (t *table) checkBlocks(begin, mostLevel, life, swept uint64) error {
	anyPrint := t.growth == 0 && t.kind != expiring
	keys, mostLeft := uint64(0), 15-14*t.leastLeft+life // that a slot of an expiring filter has, or 15
	for at := range t.blocks {
		b, i := &t.blocks[at], uint64(at)
		child, leastLeft := i&(1<<t.growth-1), min(1, swept-min(swept, i))
		level := bits.RotateLeft32(uint32(u32(b[:], 60)>>8), -1)
		wrong := uint64(level) > mostLevel || t.bits == 9 && b[58]>>4|b[59] > 0
		for s := uint64(0); s < t.segments*t.perSegment; s++ {
			if b[s*t.slotBytes&63] != 0 && anyPrint {
				keys++
			} else if print, value := t.read(b, s); print|value != 0 {
				keys++
				left := (value - t.tick) & 15
				wrong = wrong || print&0xff == 0 || print>>((t.bits-t.growth)&63) != child || left < leastLeft || left > mostLeft
			}
		}
		if wrong {
			return &FormatError{begin + blockBytes*i, "this block has a slot, lock or version that cannot be"}
		}
	}
	keysAt := uint64(48)
	if begin < pageBytes {
		keysAt = 38
	}
	return firstWrong(limits{"the number of keys", keysAt, t.keys, keys, keys})
}

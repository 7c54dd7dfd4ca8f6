package nestline

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const golden = "../../../tests/filters/file/golden/"

// Beside each file of the folder that NESTLINE_READER_FILES names are answers of the library (tests/readers/make_files.cc).
var folder = os.Getenv("NESTLINE_READER_FILES")

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// parsed opens bytes as what the first letter of their name says, and returns what all kinds have in common.
func parsed(name string, file []byte) (*table, error) {
	switch name[0] {
	case 'm':
		m, err := ParseMaplet(file)
		if err != nil {
			return nil, err
		}
		return &m.table, nil
	case 'e':
		e, err := ParseExpiring(file)
		if err != nil {
			return nil, err
		}
		return &e.table, nil
	}
	f, err := Parse(file)
	if err != nil {
		return nil, err
	}
	return &f.table, nil
}

// filesOf calls use with each file of a folder.
func filesOf(t testing.TB, folder string, atLeast int, use func(name string, file []byte)) {
	paths := must(filepath.Glob(filepath.Join(folder, "*.nest")))
	if len(paths) < atLeast {
		t.Fatalf("%d files in %q", len(paths), folder)
	}
	for _, path := range paths {
		use(strings.TrimSuffix(filepath.Base(path), ".nest"), must(os.ReadFile(path)))
	}
}

func needsFolder(t *testing.T) {
	if folder == "" {
		t.Skip("NESTLINE_READER_FILES does not name files of the library")
	}
}

// hashes are those of number i of each kind of key.
func (t *table) hashes(i int) [3]Hash {
	return [3]Hash{t.HashUint64(uint64(i)), t.HashString("key-" + strconv.Itoa(i)), Hash(uint64(i+1) * 0x9e3779b97f4a7c15)}
}

func sorted(values []uint64) []uint64 {
	sort.Slice(values, func(a, b int) bool { return values[a] < values[b] })
	return values
}

func TestGoldenFiles(t *testing.T) {
	filesOf(t, golden, 16, func(name string, file []byte) {
		f := must(parsed(name, file))
		lines := strings.Split(string(must(os.ReadFile(golden+name+".answers"))), "\n")
		for kind := range f.hashes(0) {
			var answers strings.Builder
			for i, digit := 0, 0; i < 4096; i++ {
				h := f.hashes(i)[kind]
				if name[0] == 'm' {
					text := fmt.Sprintf("%02x", sorted(f.values(nil, h)))
					answers.WriteString(strings.Trim(text, "[]") + ";")
					continue
				}
				if f.MayContainHash(h) {
					digit |= 1 << (i % 4)
				}
				if i%4 == 3 {
					fmt.Fprintf(&answers, "%x", digit)
					digit = 0
				}
			}
			if answers.String() != lines[kind] {
				t.Errorf("%s: keys of kind %d have other answers", name, kind)
			}
		}
		if name[0] == 'e' {
			for i, digit := range lines[3] {
				left := (&ExpiringFilter{*f}).TicksLeft(f.HashUint64(uint64(i)), f.tick)
				if more := int(min(uint64(left-1), uint64(left))); fmt.Sprintf("%x", more) != string(digit) {
					t.Fatalf("%s: integer %d has %d ticks left, not %c", name, i, left, digit)
				}
			}
		}
	})
}

func TestAnswersOfTheLibrary(t *testing.T) {
	needsFolder(t)
	filesOf(t, folder, 30, func(name string, file []byte) {
		f := must(parsed(name, file))
		answers := must(os.ReadFile(filepath.Join(folder, name+".answers")))
		asked, found := 0, 0
		for ; len(answers) > 0; asked++ {
			kind, i, n := asked/340000, asked%340000, int(answers[0])
			h := f.hashes(i)[kind]
			answers = answers[1:]
			if n > 0 {
				found++
			}
			if f.MayContainHash(h) != (n > 0) {
				t.Fatalf("%s: key %d of kind %d: MayContain is %v", name, i, kind, n == 0)
			}
			got, want := f.Count(h), n
			switch name[0] {
			case 'm':
				for v, value := range sorted(f.values(nil, h)) {
					if v >= n || u64(answers, 8*v) != value {
						t.Fatalf("%s: key %d of kind %d has other values", name, i, kind)
					}
				}
				answers = answers[8*n:]
			case 'e':
				got = (&ExpiringFilter{*f}).TicksLeft(h, f.tick)
			}
			if got != want {
				t.Fatalf("%s: key %d of kind %d: %d, not %d", name, i, kind, got, want)
			}
		}
		if asked != 3*340000 || found < 5000 {
			t.Errorf("%s: %d keys asked, %d found", name, asked, found)
		}
	})
}

func TestXXH3(t *testing.T) {
	needsFolder(t)
	hashes := must(os.ReadFile(filepath.Join(folder, "strings.hashes")))
	var text []byte
	for ; len(hashes) > 0; hashes = hashes[16:] {
		for i, seed := range []uint64{0, 0x9e3779b97f4a7c15} {
			if got, want := xxh3(text, seed), u64(hashes, 8*i); got != want {
				t.Fatalf("%d bytes with seed %d: %#x, not %#x", len(text), seed, got, want)
			}
		}
		text = append(text, byte(len(text)*7))
	}
	if len(text) < 2000 {
		t.Error("too few lengths")
	}
}

func TestEachFormOfAKeyIsItsHash(t *testing.T) {
	filesOf(t, golden, 16, func(name string, file []byte) {
		f := must(parsed(name, file))
		for _, n := range []int{0, 1, 63, 64, 65, 1000} {
			var hashes []Hash
			want := []bool{true}
			for i := 0; i < n; i++ {
				key := "key-" + strconv.Itoa(i)
				hashes = append(hashes, f.HashString(key))
				want = append(want, f.MayContainHash(hashes[i]))
				if f.MayContain([]byte(key)) != want[i+1] || f.MayContainString(key) != want[i+1] {
					t.Errorf("%s: %s and its hash have different answers", name, key)
				}
			}
			if got := f.MayContainHashes([]bool{true}, hashes); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: a batch of %d", name, n)
			}
		}
	})
	m := must(OpenMaplet(golden + "m268_grown.nest"))
	for i := 0; i < 100; i++ {
		key := "key-" + strconv.Itoa(i)
		want := m.FindHash([]uint64{7}, m.HashString(key))
		if len(want) < 2 || !reflect.DeepEqual(m.Find([]uint64{7}, []byte(key)), want) ||
			!reflect.DeepEqual(m.FindString([]uint64{7}, key), want) || m.Len() < 500 {
			t.Errorf("%s: %v", key, want)
		}
	}
}

func TestLaterAndEarlierTicks(t *testing.T) {
	for _, name := range []string{"e40", "e44"} {
		f, alive := must(OpenExpiring(golden+name+".nest")), 0
		for i := 0; i < 4096; i++ {
			h := f.HashUint64(uint64(i))
			left := f.TicksLeft(h, f.Tick())
			if left > 0 {
				alive++
			}
			for later := 0; later < 40; later++ {
				got := f.TicksLeft(h, f.Tick()+uint64(later))
				if want := left - int(min(uint64(left), uint64(later))); got != want {
					t.Fatalf("%s: integer %d with %d ticks left, %d ticks later: %d", name, i, left, later, got)
				}
			}
			if f.TicksLeft(h, f.Tick()-1) != left || f.MayContainHash(h) != (left > 0) {
				t.Fatalf("%s: integer %d at an earlier tick", name, i)
			}
		}
		if alive < 50 {
			t.Errorf("%s: %d keys are alive", name, alive)
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := Open(golden + "none.nest"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	var wrong *FormatError
	_, err := Open(golden + "e40.nest")
	if !errors.As(err, &wrong) || wrong.Offset != 20 || err.Error() != golden+"e40.nest: at byte 20: the width is 40, which is none of a filter" {
		t.Error(err)
	}
	if f, err := OpenMaplet(golden + "w8.nest"); f != nil || err == nil {
		t.Error(f, err)
	}
	if f, err := OpenExpiring(golden + "m268_grown.nest"); f != nil || err == nil {
		t.Error(f, err)
	}
}

func TestEachErrorSaysWhatAndWhere(t *testing.T) {
	lines := strings.Split(string(must(os.ReadFile("../../../tests/readers/errors.txt"))), "\n")
	for _, line := range lines[2 : len(lines)-1] {
		words, wrong := strings.SplitN(line, " ", 5), (*FormatError)(nil)
		file := must(os.ReadFile(golden + words[0] + ".nest"))
		copy(file[must(strconv.Atoi(words[1])):], must(hex.DecodeString(words[2])))
		seal(file)
		_, err := parsed(words[0], file)
		if !errors.As(err, &wrong) || strconv.FormatUint(wrong.Offset, 10) != words[3] || !strings.Contains(wrong.Cause, words[4]) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestEachDamagedByteAndEachLengthIsRefused(t *testing.T) {
	filesOf(t, golden, 16, func(name string, file []byte) {
		for at := range file {
			file[at] ^= 1 << (at % 8)
			if _, err := parsed(name, file); err == nil {
				t.Errorf("%s: byte %d is damaged", name, at)
			}
			file[at] ^= 1 << (at % 8)
		}
		for size := range file {
			if _, err := parsed(name, file[:size:size]); err == nil {
				t.Errorf("%s: %d bytes of it", name, size)
			}
		}
		if _, err := parsed(name, append(file, 0)); err == nil {
			t.Errorf("%s: a byte more", name)
		}
	})
}

func beginOf(file []byte) int {
	_, begin := asPage(file, uint64(len(file)))
	return int(begin)
}

// pageAt is where version 1 of the format has what a file has at a place.
func pageAt(file []byte, at int) int {
	if begin := beginOf(file); begin < pageBytes && at < begin-8 {
		for _, p := range smallPlaces {
			if place := uint64(at); place >= p[1] && place < p[1]+p[2] {
				return int(place - p[1] + p[0])
			}
		}
	} else {
		return pageBytes + at - begin
	}
	return at
}

// seal makes the checksums right, of as many blocks as the length of the file allows.
func seal(file []byte) {
	put := func(at, from, to int) { binary.LittleEndian.PutUint64(file[at:], xxh3(file[from:to], 0)) }
	begin := beginOf(file)
	if len(file) < begin+blockBytes+16 {
		return
	}
	put(begin-8, 0, begin-8)
	rest := len(file) - begin - 8
	sums := begin + rest - (rest+sectionBytes+7)/(sectionBytes+8)*8
	at := sums
	for from := begin; from < sums; from += sectionBytes {
		put(at, from, int(min(uint64(from+sectionBytes), uint64(sums))))
		at += 8
	}
	put(at, sums, at)
}

// askAll looks for anything that a file could do to a lookup.
func askAll(t testing.TB, f *table) {
	for i := 0; i < 100; i++ {
		for _, h := range f.hashes(i) {
			if n := f.Count(h); n > 16 || f.MayContainHash(h) != (n > 0) {
				t.Fatalf("%d copies", n)
			}
		}
	}
}

func TestEachDamagedByteBelowRightChecksums(t *testing.T) {
	opened := 0
	filesOf(t, golden, 16, func(name string, file []byte) {
		for at := 0; at < len(file)-16; at++ {
			if at > 104 && at < beginOf(file)-64-96 {
				at += 96 // reserved
			}
			flips := []byte{1 << (at % 8), 1, 0x80, 0xff}
			if at >= beginOf(file) { // blocks, which have all forms of bytes anyway
				flips = flips[:1]
			}
			for _, flip := range flips {
				bad := append([]byte{}, file...)
				bad[at] ^= flip
				seal(bad)
				if f, err := parsed(name, bad); err == nil {
					askAll(t, f)
					opened++
					at := pageAt(file, at)
					namesKinds := at >= 36 && at < 40 && name[0] != 'e' && name[0] != 'm'
					if mayDiffer := namesKinds || at >= 40 && at < 104 || at >= 4032 && at < 4040; at < 4088 && !mayDiffer {
						t.Errorf("%s: byte %d", name, at)
					}
				} else if wrong := (*FormatError)(nil); !errors.As(err, &wrong) || wrong.Offset > uint64(len(file)) {
					t.Fatal(name, at, err)
				}
			}
		}
	})
	if opened < 1000 {
		t.Errorf("%d files were opened", opened)
	}
}

func TestRandomDamageBelowRightChecksums(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	filesOf(t, golden, 16, func(name string, file []byte) {
		for round := 0; round < 300; round++ {
			bad := append([]byte{}, file...)
			begin := beginOf(file)
			for flips := 1 + random.Intn(4); flips > 0; flips-- {
				at := random.Intn(104)
				if random.Intn(2) == 0 {
					at = begin - 64 + random.Intn(len(bad)-begin+64)
				}
				bad[at] = byte(random.Int())
			}
			seal(bad)
			for _, kind := range []string{"w", "e", "m"} {
				if f, err := parsed(kind, bad); err == nil {
					askAll(t, f)
				}
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	filesOf(f, golden, 16, func(name string, file []byte) { f.Add(file[:104], file[min(4032, uint64(beginOf(file)+40)):]) })
	f.Fuzz(func(t *testing.T, head, tail []byte) {
		file := make([]byte, 4032, 4032+len(tail))
		if len(head) > 12 && head[12] == 2 {
			file = file[:len(head)]
		}
		copy(file, head)
		file = append(file, tail...)
		for _, kind := range []string{"w", "e", "m"} {
			_, _ = parsed(kind, file)
		}
		seal(file)
		for _, kind := range []string{"w", "e", "m"} {
			if f, err := parsed(kind, file); err == nil {
				askAll(t, f)
			}
		}
	})
}

func TestNoMemoryIsTakenForAnotherFile(t *testing.T) {
	whole := must(os.ReadFile(golden + "w9.nest"))
	for _, start := range [][]byte{nil, whole} {
		path := filepath.Join(t.TempDir(), "large.nest")
		if err := os.WriteFile(path, start, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 64<<30); err != nil { // it has no blocks on the disk
			t.Skip(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Open(path)
		runtime.ReadMemStats(&after)
		var wrong *FormatError
		if !errors.As(err, &wrong) || after.TotalAlloc-before.TotalAlloc > 1<<20 {
			t.Errorf("%v, and %d bytes of memory", err, after.TotalAlloc-before.TotalAlloc)
		}
	}
}

func TestManyGoroutines(t *testing.T) {
	f := must(Open(golden + "w12_grown.nest"))
	hashes := make([]Hash, 100)
	want := f.MayContainHashes(nil, hashes)
	var group sync.WaitGroup
	for g := 0; g < 8; g++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 1000; i++ {
				if !reflect.DeepEqual(f.MayContainHashes(nil, hashes), want) {
					t.Error("another answer")
				}
			}
		}()
	}
	group.Wait()
}

func TestQuestionsAllocateNothing(t *testing.T) {
	filesOf(t, golden, 16, func(name string, file []byte) {
		f, values, found := must(parsed(name, file)), make([]uint64, 0, 16), make([]bool, 0, 100)
		long, hashes := strings.Repeat("long", 20), []Hash{1, 2}
		if n := testing.AllocsPerRun(100, func() {
			f.MayContainString("key-1")
			f.MayContainString(long)
			f.MayContainHashes(found, hashes)
			f.Count(f.HashUint64(1))
			f.values(values, f.HashUint64(1))
			(&ExpiringFilter{*f}).TicksLeft(1, f.tick)
		}); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	})
}

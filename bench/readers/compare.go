// Compares lookups of strings in a file of make_filter with those of seiflotfy/cuckoofilter, which has as much memory and as
// many keys: compare FILE KEYS, where KEYS is how many strings FILE has. compare.py runs it.
package main

import (
	"fmt"
	"math/bits"
	"os"
	"sort"
	"strconv"
	"time"

	"github.com/seiflotfy/cuckoofilter"
	"nestline"
)

const asked, rounds = 1 << 20, 21

func key(i uint64) []byte { return []byte(fmt.Sprintf("%016x", i*0x9e3779b97f4a7c15)) }

// sample returns keys of random numbers from first on, among so many.
func sample(first, among uint64) (keys [][]byte) {
	x, slab := uint64(1), make([]byte, 0, 16*asked)
	for i := 0; i < asked; i++ {
		x = x*6364136223846793005 + 1442695040888963407
		slab = append(slab, key(first+(x>>20)%among)...)
		keys = append(keys, slab[16*i:16*i+16])
	}
	return keys
}

func half(of [][]byte, and [][]byte) (keys [][]byte) {
	for i := range of {
		keys = append(keys, [2][]byte{of[i], and[i]}[uint64(i)*0x9e3779b97f4a7c15>>63])
	}
	return keys
}

var found int

func nanoseconds(work func() int) float64 {
	begin := time.Now()
	found += work()
	return float64(time.Since(begin).Nanoseconds()) / asked
}

func median(numbers []float64) float64 {
	sort.Float64s(numbers)
	return numbers[len(numbers)/2]
}

func main() {
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	filter, err := nestline.Parse(file)
	if err != nil {
		panic(err)
	}
	strings, _ := strconv.ParseUint(os.Args[2], 10, 64)
	other := cuckoo.NewFilter(1 << (bits.Len(uint(len(file)-4096)) - 1)) // in as many bytes as its blocks, a power of 2
	for i := uint64(0); i < 2*strings; i++ {
		other.Insert(key(i))
	}
	present, absent := sample(0, strings), sample(2*strings, 1<<40)
	hashes, answers := make([]nestline.Hash, asked), make([]bool, 0, asked)
	for _, kind := range []struct {
		name string
		keys [][]byte
	}{{"present", present}, {"absent", absent}, {"half of each", half(present, absent)}} {
		var ours, batches, theirs, ratios, batchRatios []float64
		for round := 0; round < rounds; round++ {
			o := nanoseconds(func() (n int) {
				for _, key := range kind.keys {
					if filter.MayContain(key) {
						n++
					}
				}
				return n
			})
			t := nanoseconds(func() (n int) {
				for _, key := range kind.keys {
					if other.Lookup(key) {
						n++
					}
				}
				return n
			})
			b := nanoseconds(func() int {
				for i, key := range kind.keys {
					hashes[i] = filter.HashBytes(key)
				}
				answers = filter.MayContainHashes(answers[:0], hashes)
				return len(answers)
			})
			ours, theirs, batches = append(ours, o), append(theirs, t), append(batches, b)
			ratios, batchRatios = append(ratios, t/o), append(batchRatios, t/b)
		}
		fmt.Printf("%-13s %6.1f ns, batches %6.1f, other %6.1f: %.2f times as fast, batches %.2f\n", kind.name,
			median(ours), median(batches), median(theirs), median(ratios), median(batchRatios))
	}
}

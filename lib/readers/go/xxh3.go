package nestline

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// The 64-bit XXH3 of bytes, written from the specification of xxHash (doc/xxhash_spec.md).

const (
	prime32a, prime32b, prime32c = 0x9e3779b1, 0x85ebca77, 0xc2b2ae3d
	prime64a, prime64b, prime64c = 0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9
	prime64d, prime64e           = 0x85ebca77c2b2ae63, 0x27d4eb2f165667c5
	primeMx1, primeMx2           = 0x165667919e3779f9, 0x9fb21c651e98df25
)

var secretBytes, _ = hex.DecodeString("" +
	"b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221" +
	"b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
	"a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb" +
	"170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")

var secret = (*[192]byte)(secretBytes)

func u32(b []byte, at int) uint64 { return uint64(binary.LittleEndian.Uint32(b[at:])) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// step is what most hashes consist of.
func step(h uint64, shift int, factor uint64) uint64 { return (h ^ h>>(shift&63)) * factor }

func avalanche(h uint64) uint64 { return step(step(h, 37, primeMx1), 32, 1) }

func avalancheShort(h uint64) uint64 { return step(step(step(h, 33, prime64b), 29, prime64c), 32, 1) }

// fold returns the two halves of the product, xor-ed.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func xxh3(b []byte, seed uint64) uint64 {
	n := len(b)
	switch {
	case n > 240:
		return xxh3Long(b, seed)
	case n > 16:
		return xxh3Middle(b, seed)
	case n > 8:
		low := u64(b, 0) ^ ((u64(secret[:], 24) ^ u64(secret[:], 32)) + seed)
		high := u64(b, n-8) ^ ((u64(secret[:], 40) ^ u64(secret[:], 48)) - seed)
		return avalanche(uint64(n) + bits.ReverseBytes64(low) + high + fold(low, high))
	case n > 3:
		seed ^= uint64(bits.ReverseBytes32(uint32(seed))) << 32
		h := (u32(b, n-4) | u32(b, 0)<<32) ^ ((u64(secret[:], 8) ^ u64(secret[:], 16)) - seed)
		h = (h ^ bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)) * primeMx2
		return step((h^(h>>35+uint64(n)))*primeMx2, 28, 1)
	case n > 0:
		h := uint64(b[0])<<16 | uint64(b[n>>1])<<24 | uint64(b[n-1]) | uint64(n)<<8
		return avalancheShort(h ^ ((u32(secret[:], 0) ^ u32(secret[:], 4)) + seed))
	}
	return avalancheShort(seed ^ u64(secret[:], 56) ^ u64(secret[:], 64))
}

// mix16 takes in 16 bytes.
func mix16(b []byte, at, secretAt int, seed uint64) uint64 {
	return fold(u64(b, at)^(u64(secret[:], secretAt)+seed), u64(b, at+8)^(u64(secret[:], secretAt+8)-seed))
}

// xxh3Middle is for 17 to 240 bytes.
func xxh3Middle(b []byte, seed uint64) uint64 {
	n := len(b)
	h := uint64(n) * prime64a
	if n <= 128 {
		for i := 0; i <= (n-1)/32; i++ {
			h += mix16(b, 16*i, 32*i, seed) + mix16(b, n-16*(i+1), 32*i+16, seed)
		}
		return avalanche(h)
	}
	for i := 0; i < n/16; i++ {
		h += mix16(b, 16*i, 16*i-i/8*125, seed) // from the ninth on from byte 3 of the secret
		if i == 7 {
			h = avalanche(h)
		}
	}
	return avalanche(h + mix16(b, n-16, 119, seed))
}

// takeIn adds a stripe of 64 bytes to the lanes.
func takeIn(lanes *[8]uint64, stripe, key *[64]byte) {
	for i := 0; i < 8; i++ {
		value := u64(stripe[:], 8*i)
		keyed := value ^ u64(key[:], 8*i)
		lanes[i^1] += value
		lanes[i] += keyed & 0xffffffff * (keyed >> 32)
	}
}

// xxh3Long is for more than 240 bytes.
func xxh3Long(b []byte, seed uint64) uint64 {
	key, n := append([]byte{}, secret[:]...), len(b)
	for at := 0; at < len(key); at += 16 {
		binary.LittleEndian.PutUint64(key[at:], u64(secret[:], at)+seed)
		binary.LittleEndian.PutUint64(key[at+8:], u64(secret[:], at+8)-seed)
	}
	lanes := [8]uint64{prime32c, prime64a, prime64b, prime64c, prime64d, prime32b, prime64e, prime32a}
	for stripe := 0; stripe < (n-1)/64; stripe++ {
		takeIn(&lanes, (*[64]byte)(b[64*stripe:]), (*[64]byte)(key[8*(stripe%16):]))
		if stripe%16 == 15 {
			for i, lane := range lanes {
				lanes[i] = (lane ^ lane>>47 ^ u64(key, 128+8*i)) * prime32a
			}
		}
	}
	takeIn(&lanes, (*[64]byte)(b[n-64:]), (*[64]byte)(key[121:]))
	h := uint64(n) * prime64a
	for i := 0; i < 8; i += 2 {
		h += fold(lanes[i]^u64(key, 11+8*i), lanes[i+1]^u64(key, 19+8*i))
	}
	return avalanche(h)
}

package nestline;

import static java.lang.invoke.MethodHandles.byteArrayViewVarHandle;
import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.lang.invoke.VarHandle;
import java.util.HexFormat;

/** XXH3 of 64 bits, written from its public specification (xxHash, doc/xxhash_spec.md). */
final class Xxh3 {
  private static final VarHandle LONGS = byteArrayViewVarHandle(long[].class, LITTLE_ENDIAN);
  private static final VarHandle INTS = byteArrayViewVarHandle(int[].class, LITTLE_ENDIAN);
  private static final byte[] SECRET = HexFormat.of().parseHex(
      "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578"
      + "825ad07dccff7221b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea3"
      + "71644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931"
      + "c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
      + "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e");
  private static final long P32_1 = 0x9e3779b1L, P64_1 = 0x9e3779b185ebca87L;
  private static final long P64_2 = 0xc2b2ae3d27d4eb4fL, P64_3 = 0x165667b19e3779f9L;
  private static final long[] LANES = {0xc2b2ae3dL, P64_1, P64_2, P64_3, 0x85ebca77c2b2ae63L,
      0x85ebca77L, 0x27d4eb2f165667c5L, P32_1};
  private static final int STRIPE = 64;  // bytes that are taken in at a time
  private static final int BLOCK_STRIPES = (SECRET.length - STRIPE) / 8;

  static long hash(byte[] data, long seed) {
    int size = data.length;
    if (size <= 16) return hashTo16(data, size, seed);
    if (size > 240) return hashLong(data, size, seed);
    long h = size * P64_1;
    if (size <= 128) {
      for (int i = 0; i <= (size - 1) / 32; i++) {
        h += mix(data, 16 * i, 32 * i, seed) + mix(data, size - 16 * (i + 1), 32 * i + 16, seed);
      }
      return avalanche(h);
    }
    for (int i = 0; i < 8; i++) h += mix(data, 16 * i, 16 * i, seed);
    h = avalanche(h);
    for (int i = 8; i < size / 16; i++) h += mix(data, 16 * i, 16 * (i - 8) + 3, seed);
    return avalanche(h + mix(data, size - 16, 119, seed));
  }

  private static long hashTo16(byte[] data, int size, long seed) {
    if (size > 8) {
      long low = u64(data, 0) ^ (u64(SECRET, 24) ^ u64(SECRET, 32)) + seed;
      long high = u64(data, size - 8) ^ (u64(SECRET, 40) ^ u64(SECRET, 48)) - seed;
      return avalanche(size + Long.reverseBytes(low) + high + fold(low, high));
    }
    if (size >= 4) {
      long flip = (u64(SECRET, 8) ^ u64(SECRET, 16))
          - (seed ^ (long) Integer.reverseBytes((int) seed) << 32);
      long h = u32(data, size - 4) + (u32(data, 0) << 32) ^ flip;
      h = (h ^ Long.rotateLeft(h, 49) ^ Long.rotateLeft(h, 24)) * 0x9fb21c651e98df25L;
      return shifted((h ^ (h >>> 35) + size) * 0x9fb21c651e98df25L, 28);
    }
    long h = seed ^ u64(SECRET, 56) ^ u64(SECRET, 64);
    if (size > 0) {
      int ends = (data[0] & 255) << 16 | data[size >> 1] << 24 | data[size - 1] & 255 | size << 8;
      h = (ends & 0xffffffffL) ^ (u32(SECRET, 0) ^ u32(SECRET, 4)) + seed;
    }
    return shifted(shifted(shifted(h, 33) * P64_2, 29) * P64_3, 32);
  }

  private static long hashLong(byte[] data, int size, long seed) {
    byte[] secret = new byte[SECRET.length];
    for (int at = 0; at < secret.length; at += 8) {
      LONGS.set(secret, at, u64(SECRET, at) + (at % 16 == 0 ? seed : -seed));
    }
    long[] lanes = LANES.clone();
    for (int number = 0; number < (size - 1) / STRIPE; number++) {
      int i = number % BLOCK_STRIPES;
      takeIn(lanes, data, number * STRIPE, secret, 8 * i);
      if (i == BLOCK_STRIPES - 1) scramble(lanes, secret);
    }
    takeIn(lanes, data, size - STRIPE, secret, secret.length - STRIPE - 7);
    long h = size * P64_1;
    for (int i = 0; i < 8; i += 2) {
      h += fold(lanes[i] ^ u64(secret, 11 + 8 * i), lanes[i + 1] ^ u64(secret, 19 + 8 * i));
    }
    return avalanche(h);
  }

  /**
   * No loop: OpenJDK 17.0.15 compiles one inside the caller's wrongly, also in a method of its own,
   * which it inlines; not with -XX:-UseLoopPredicate.
   */
  private static void scramble(long[] lanes, byte[] secret) {
    scramble(lanes, secret, 0);
    scramble(lanes, secret, 1);
    scramble(lanes, secret, 2);
    scramble(lanes, secret, 3);
    scramble(lanes, secret, 4);
    scramble(lanes, secret, 5);
    scramble(lanes, secret, 6);
    scramble(lanes, secret, 7);
  }

  private static void scramble(long[] lanes, byte[] secret, int i) {
    lanes[i] = (shifted(lanes[i], 47) ^ u64(secret, secret.length - STRIPE + 8 * i)) * P32_1;
  }

  private static void takeIn(long[] lanes, byte[] data, int at, byte[] secret, int secretAt) {
    for (int i = 0; i < 8; i++) {
      long value = u64(data, at + 8 * i);
      long key = value ^ u64(secret, secretAt + 8 * i);
      lanes[i ^ 1] += value;
      lanes[i] += (key & 0xffffffffL) * (key >>> 32);
    }
  }

  private static long mix(byte[] data, int at, int secretAt, long seed) {
    return fold(u64(data, at) ^ u64(SECRET, secretAt) + seed,
        u64(data, at + 8) ^ u64(SECRET, secretAt + 8) - seed);
  }

  private static long u64(byte[] data, int at) { return (long) LONGS.get(data, at); }

  private static long u32(byte[] data, int at) { return (int) INTS.get(data, at) & 0xffffffffL; }

  /** The upper half of the product of two numbers without signs. */
  static long high64(long a, long b) {
    return Math.multiplyHigh(a, b) + (a >> 63 & b) + (b >> 63 & a);
  }

  private static long fold(long a, long b) { return a * b ^ high64(a, b); }

  static long shifted(long x, int by) { return x ^ x >>> by; }

  private static long avalanche(long h) {
    return shifted(shifted(h, 37) * 0x165667919e3779f9L, 32);
  }
}

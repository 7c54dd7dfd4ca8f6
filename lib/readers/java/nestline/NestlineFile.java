package nestline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * What the three kinds of nestline files have in common. docs/FORMAT.md defines every byte.
 *
 * <p>Opening checks the whole file, so it reads all of it. Objects are immutable, for any number of
 * threads, and a mapping lives as long as its object. While a file is mapped, nobody may write to
 * it or cut it off; a new file may take its name.
 *
 * <p>An integer, a string and a hash are keys of different kinds: what was inserted as the string
 * "7" is not found as the integer 7. A string is its bytes in UTF-8. Lookups are O(1) and read one
 * or two blocks of 64 bytes.
 */
public abstract sealed class NestlineFile permits Filter, ExpiringFilter, Maplet {
  private static final long MAGIC = 0x0a1a0a0d54534e8eL, MAX_FILE = 1L << 47;
  static final long PIECE = 1 << 30;  // bytes of a buffer; a power of two. Tests have a small one
  // Where version 1 of the format has each field of the header, where version 2 has it, and in how
  // many bytes each.
  static final int[][] FIELDS = {
      {16, 16, 4, 1}, {20, 18, 4, 2}, {24, 32, 8, 6}, {32, 17, 4, 1}, {36, 20, 4, 4},
      {40, 24, 8, 8}, {48, 38, 8, 6}, {56, 44, 8, 6}, {64, 50, 8, 6}, {80, 56, 4, 4},
      {84, 60, 4, 4}, {88, 72, 8, 8}, {96, 80, 8, 8}, {4032, 64, 8, 8}};
  private static final int SECTION = 1 << 20, MARK = 60, GROUP = 64;
  private static final long M1 = 0x3ff5c6bd6e2a43f1L, M2 = 0xaa4deb21cc59b9f1L;
  // First those of filters, then of expiring filters, then of maplets; their segments times 100,
  // and the slots of a segment.
  private static final List<Integer> WIDTHS =
      List.of(8, 9, 10, 12, 16, 40, 44, 20, 136, 140, 264, 268, 528);
  private static final int[] SHAPES = {
      415, 413, 412, 410, 506, 410, 506, 801, 410, 506, 506, 406, 503};
  private static final int[] ROTATIONS = {0, 0xddc9, 0x6063, 0x874b, 0xa925, 0, 0, 0};

  final long tick;
  private final boolean turnsOver;
  private final int mostLevel;  // of guests, of a block
  private final int width, bits, segments, segmentSlots, slotShift, growth, life;
  private final long bases, blocks, seed, size, before, multiplier;
  private final Slots slotAt;
  private final String name;
  private final int header;  // bytes of it
  private final long length;
  private final ByteBuffer[] pieces;  // as of piecesOf

  NestlineFile(Object name, ByteBuffer[] pieces, String wanted) throws FormatException {
    this.name = name.toString();
    this.pieces = pieces;
    length =
        pieces.length == 0 ? 0 : (pieces.length - 1) * PIECE + pieces[pieces.length - 1].limit();
    if (number(0, 8) != MAGIC) throw wrong(0, "this is no nestline file: it has another magic");
    in(8, 4, 0x01020304, 0x01020304, "the byte order");
    boolean isPage = in(12, 4, 1, 2, "the format version") == 1;
    header = isPage ? 4096 : number(18, 2) >>> 5 == 1 ? 128 : 64;
    int checksumAt = header - 8, tickAt = header - 64;
    int hashVersion = (int) field(16, 2, 4, "the hash version");
    turnsOver = hashVersion > 2;
    mostLevel = hashVersion == 3 ? 12 : turnsOver ? 15 : 0;
    number(checksumAt, 8);  // so the header is whole
    inChecksum(checksumAt, 0, checksumAt, "the header");

    width = (int) field(20);
    int index = WIDTHS.indexOf(width);
    if (index < 0) throw wrong(place(20), "unknown width: " + field(20));
    segments = SHAPES[index] / 100;
    segmentSlots = SHAPES[index] % 100;
    slotShift = segments * segmentSlots > 30 ? 0 : 1;
    slotAt = slots(width);
    bits = width & 31;
    boolean expires = width == 40 || width == 44;
    String kind = index < 5 ? "a filter" : expires ? "an expiring filter" : "a maplet";
    if (!kind.equals(wanted)) throw wrong(place(20), "this is " + kind + " and not " + wanted);
    if (index >= 5) field(16, 2, 2, "the hash version of what is no filter");

    int mostGrowth = expires ? 0 : bits - 4;
    growth = (int) field(32, 0, mostGrowth, "the growth");
    bases = field(24, turnsOver ? 64 : 1, 1L << 40 - growth, "the base blocks");
    blocks = bases << growth;
    long slots = blocks * segments * segmentSlots;
    seed = field(40);
    size = field(48, 0, slots, "the keys");
    long capacity = field(56, 1, slots, "the capacity");
    long most = Math.min(slots << mostGrowth - growth, slots / blocks << 40);
    boolean doubles = field(64, 0, most, "the maximal capacity") > capacity;
    if (doubles && growth == 0) field(56, slots / 2, slots, "the capacity of what doubles");
    life = expires ? (int) field(80, 1, 14, "the life") : 0;
    tick = expires ? field(4032) : 0;
    if (expires) field(84, 0, 63, "the inserts since the last slice");
    if (expires) field(88, tick - 15, tick, "the tick of the last exchange");
    long swept = expires ? field(96, 0, blocks, "the swept blocks") : 0;
    long kinds = index < 5 ? 0x7fff7fff : 0;
    if ((field(36) & ~kinds) != 0) throw wrong(place(36), "reserved bytes, or kinds of keys that it does not know");
    int unused = expires ? place(96) + 8 : isPage ? 80 : checksumAt;
    for (int at = unused; at < checksumAt; at += 8) {
      if (!expires || at != tickAt) in(at, 8, 0, 0, "reserved bytes");
    }
    long content = 64 * (blocks + (expires ? (blocks + 63) / 64 : 0)), sums = header + content;
    long sections = (content + SECTION - 1) / SECTION, end = sums + 8 * sections + 8;
    if (isPage) in(72, 8, end, end, "the length");
    if (length != end) throw wrong(Math.min(length, end), "the file should end at byte " + end);

    inChecksum(end - 8, sums, (int) (end - 8 - sums), "the checksums");
    long taken = 0;
    for (long at = header; at < sums; at += SECTION) {
      int bytes = (int) Math.min(SECTION, sums - at);
      inChecksum(sums + (at - header) / SECTION * 8, at, bytes, "the section at byte " + at);
      long last = Math.min(blocks, (at - header + bytes) / 64);
      for (long b = (at - header) / 64; b < last; b++) taken += checkBlock(b, b < swept ? 1 : 0);
    }
    field(48, taken, taken, "the keys");
    for (long at = header + 65 * blocks; at < sums; at++) in(at, 1, 0, 0, "what is behind the next marks");
    before = mix(seed, M2, M1);
    multiplier = mix(before + seed, M1, M2) | 1;
  }

  /** Room for the pieces of so many bytes: all of PIECE bytes, but the last may be shorter. */
  private static ByteBuffer[] piecesOf(long bytes) {
    return new ByteBuffer[(int) ((bytes + PIECE - 1) / PIECE)];
  }

  /** A file's bytes in pieces. */
  static ByteBuffer[] map(Path path) throws IOException {
    try (FileChannel file = FileChannel.open(path)) {
      if (file.size() > MAX_FILE) throw new FormatException(path.toString(), MAX_FILE, "too long");
      ByteBuffer[] pieces = piecesOf(file.size());
      for (int i = 0; i < pieces.length; i++) {
        long bytes = Math.min(PIECE, file.size() - i * PIECE);
        pieces[i] = file.map(FileChannel.MapMode.READ_ONLY, i * PIECE, bytes);
        pieces[i].order(ByteOrder.LITTLE_ENDIAN);
      }
      return pieces;
    }
  }

  /** A copy, which nobody can change. Of the same class as mappings, so that calls are inlined. */
  static ByteBuffer[] copy(ByteBuffer file) {
    ByteBuffer[] pieces = piecesOf(file.remaining());
    for (int i = 0; i < pieces.length; i++) {
      int from = (int) (i * PIECE), bytes = (int) Math.min(PIECE, file.remaining() - from);
      ByteBuffer copy = ByteBuffer.allocateDirect(bytes).put(0, file, file.position() + from, bytes);
      pieces[i] = copy.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
    }
    return pieces;
  }

  private FormatException wrong(long at, String cause) {
    return new FormatException(name, at, cause);
  }

  /** The number of up to 8 bytes at an offset. */
  private long number(long at, int bytes) throws FormatException {
    if (at + bytes > length) throw wrong(length, "the file ends too early");
    ByteBuffer data = piece(at);
    int offset = offset(at);
    long number = 0;
    for (int i = bytes; i-- > 0; ) number = number << 8 | data.get(offset + i) & 0xff;
    return number;
  }

  /** The field that version 1 of the format has at this place. */
  private static int[] of(int page) {
    int i = 0;
    while (FIELDS[i][0] != page) i++;
    return FIELDS[i];
  }

  private int place(int page) { return of(page)[header == 4096 ? 0 : 1]; }

  private long field(int page) throws FormatException {
    return number(place(page), of(page)[header == 4096 ? 2 : 3]);
  }

  private long field(int page, long least, long most, String what) throws FormatException {
    return in(place(page), of(page)[header == 4096 ? 2 : 3], least, most, what);
  }

  /** The same, which must be from `least` to `most`, all without signs. */
  private long in(long at, int bytes, long least, long most, String what) throws FormatException {
    long value = number(at, bytes);
    if (Long.compareUnsigned(value - least, most - least) <= 0) return value;
    String range = Long.toUnsignedString(least);
    if (least != most) range += " to " + Long.toUnsignedString(most);
    throw wrong(at, what + ": " + Long.toUnsignedString(value) + ", not " + range);
  }

  /** Compares a checksum with that of some bytes, which begin at a block. */
  private void inChecksum(long at, long from, int bytes, String what) throws FormatException {
    byte[] copy = new byte[bytes];
    for (int i = 0; i < bytes; i += 64) {
      piece(from + i).get(offset(from + i), copy, i, Math.min(64, bytes - i));
    }
    long sum = Xxh3.hash(copy, 0);
    in(at, 8, sum, sum, "the checksum of " + what);
  }

  /** How many slots of the block are taken. */
  private int checkBlock(long block, int leastLeft) throws FormatException {
    ByteBuffer data = piece(header + 64 * block);
    int at = offset(header + 64 * block), locks = data.getInt(at + MARK) >>> 8, taken = 0;
    boolean good = (locks & 1) == 0 && locks <= 2 * mostLevel;
    good &= width != 9 || data.getShort(at + 58) >>> 4 == 0;
    for (int s = 0; s < segments * segmentSlots; s++) {
      long slot = slotAt.get(data, at, s);
      boolean free = (slot & 0xff) == 0;
      int left = ticksLeft(slot >>> bits);
      long child = (slot & (1 << bits) - 1) >>> bits - growth;
      good &= free ? slot == 0 : child == (block & (1L << growth) - 1);
      good &= free || life == 0 || left >= leastLeft && left <= life + 1;
      taken += free ? 0 : 1;
    }
    if (good) return taken;
    throw wrong(header + 64 * block, "a slot, lock or version of block " + block + " cannot be");
  }

  private ByteBuffer piece(long at) { return pieces[(int) (at / PIECE)]; }

  private static int offset(long at) { return (int) at & (int) PIECE - 1; }

  /** A slot's fingerprint, and above it its value or death; inlined in programs of one width. */
  private interface Slots {
    long get(ByteBuffer data, int at, int s);
  }

  private static Slots slots(int width) {
    return switch (width) {
      case 9 -> (data, at, s) -> part(data, at, 8 * s, 8) | part(data, at, 416 + s, 1) << 8;
      case 10 -> (data, at, s) -> part(data, at, 8 * s, 8) | part(data, at, 384 + s, 1) << 8
          | part(data, at, 432 + s, 1) << 9;
      case 12, 40, 136 -> (data, at, s) -> part(data, at, 8 * s, 8)
          | part(data, at, 320 + s % 20 * 8 + s / 20 * 4, 4) << 8;
      case 16, 44, 140, 264 -> (data, at, s) -> part(data, at, 16 * s, 16);
      case 20 -> (data, at, s) -> part(data, at, 16 * s, 16)
          | part(data, at, 448 + 4 * s, 4) << 16 | part(data, at, 128 + 40 * s, 40) << 20;
      case 268 -> (data, at, s) -> part(data, at, 16 * s, 16)
          | part(data, at, 384 + 4 * s, 4) << 16;
      case 528 -> (data, at, s) -> part(data, at, 16 * s, 16)
          | part(data, at, 240 + 16 * s, 16) << 16;
      default -> (data, at, s) -> data.get(at + s) & 0xff;
    };
  }

  /** Some bits of a block. */
  private static long part(ByteBuffer data, int at, int bit, int count) {
    int from = Math.min(bit / 8, 56);
    return data.getLong(at + from) >>> bit - 8 * from & (1L << count) - 1;
  }

  final int ticksLeft(long death) { return (int) (death - tick) & 15; }

  private static long mix(long x, long a, long m) {
    return Xxh3.shifted(Xxh3.shifted(x ^ a, 29) * m, 32) * M2;
  }

  /** The fingerprint and the bucket offset of a hash: f * 16 + p. */
  private int pair(long hash) {
    int rest = (int) (hash * bases >>> 32), f = rest >>> 32 - bits;
    int p = (rest >>> 16 - bits & 0xffff) * segmentSlots >>> 16;
    return (f + ((f & 0xff) == 0 ? 1 : 0)) * 16 + p;
  }

  /** Where a hash's home block is: a block's number is that of its base and, below, of the child. */
  private long home(long hash) { return header + Xxh3.high64(hash, blocks) * 64; }

  /** Where its other block is, or its home if it has no other. */
  private long other(long hash, int pair) {
    long x = (turnsOver ? pair & 0xff0 : pair) * 0x93f632e505cee36fL;
    long base = Xxh3.high64(Xxh3.shifted(x, 32) * 0x5494fc2a78752677L, bases)
        - Xxh3.high64(hash, bases);
    if (base < 0) base += bases;
    return header + ((base << growth) + (pair >>> 4 + bits - growth)) * 64;
  }

  /** The slot of a pair's bucket in a segment. */
  private int slot(int segment, int pair) {
    int q = (pair & 15) + (((pair >>> 4) * ROTATIONS[segment] & 0xffff) * segmentSlots >>> 16);
    return segment * segmentSlots + (q < segmentSlots ? q : q - segmentSlots);
  }

  /** Which slots of a pair's bucket hold its fingerprint and are alive: bit j for segment j. */
  private int matches(long at, int pair) {
    ByteBuffer data = piece(at);
    int offset = offset(at), f = pair >>> 4, found = 0;
    for (int j = 0; j < segments; j++) {
      int differs = (data.get(offset + (slot(j, pair) << slotShift)) ^ f) & 0xff;
      found |= (differs - 1 >>> 31) << j;  // a branch would be mispredicted
    }
    for (int rest = bits > 8 || life > 0 ? found : 0; rest != 0; rest &= rest - 1) {
      long slot = slotAt.get(data, offset, slot(Integer.numberOfTrailingZeros(rest), pair));
      boolean dead = life > 0 && ticksLeft(slot >>> bits) == 0;
      if ((slot & (1 << bits) - 1) != f || dead) found ^= rest & -rest;
    }
    return found;
  }

  /** The overflow mark of a hash's home. Reading it fetches the block. */
  private int mark(long hash) {
    long home = home(hash);
    return piece(home).get(offset(home) + MARK) & 0xff;
  }

  /** Where a hash is: bit j for segment j of its home, bit 8 + j for that of its other block. */
  private int find(long hash, int mark) {
    int pair = pair(hash);
    long home = home(hash);
    int found = matches(home, pair);
    if ((pair >>> 4 & 0xff) - 1 >= mark) return found;
    long other = other(hash, pair);
    return other == home ? found : found | matches(other, pair) << 8;
  }

  /** The values or deaths of all slots where a hash is. */
  final long[] values(long hash) {
    int found = find(hash, mark(hash)), pair = pair(hash);
    long[] values = new long[Integer.bitCount(found)];
    for (int i = 0; i < values.length; i++, found &= found - 1) {
      int bit = Integer.numberOfTrailingZeros(found);
      long at = bit < 8 ? home(hash) : other(hash, pair);
      values[i] = slotAt.get(piece(at), offset(at), slot(bit & 7, pair)) >>> bits;
    }
    return values;
  }

  /** The hash of an integer. */
  public final long hash(long key) { return mix(key, before, multiplier); }

  /** The hash of a string. */
  public final long hash(String key) { return hash(key.getBytes(StandardCharsets.UTF_8)); }

  /** The hash of the string of these bytes. */
  public final long hash(byte[] key) { return Xxh3.hash(key, seed); }

  /** Whether the integer may be there. */
  public final boolean mayContain(long key) { return mayContainHash(hash(key)); }

  /** Whether the string may be there. */
  public final boolean mayContain(String key) { return mayContainHash(hash(key)); }

  /** Whether the string of these bytes may be there. */
  public final boolean mayContain(byte[] key) { return mayContainHash(hash(key)); }

  /** Whether a key of this hash may be there: a hash of the caller's, or one of {@code hash}. */
  public final boolean mayContainHash(long hash) { return find(hash, mark(hash)) != 0; }

  /** Makes found[i] mayContain(keys[i]) for all integers. */
  public final void mayContain(long[] keys, boolean[] found) {
    long[] hashes = new long[GROUP];
    int[] marks = new int[GROUP];
    for (int start = 0, count; start < keys.length; start += count) {
      count = Math.min(GROUP, keys.length - start);
      for (int i = 0; i < count; i++) {  // these wait for memory beside each other
        hashes[i] = hash(keys[start + i]);
        marks[i] = mark(hashes[i]);
      }
      for (int i = 0; i < count; i++) found[start + i] = find(hashes[i], marks[i]) != 0;
    }
  }

  /** How many copies of keys of this hash there may be, or pairs of a maplet. */
  public final int countHash(long hash) { return Integer.bitCount(find(hash, mark(hash))); }

  /** Keys in it; of maplets pairs, of expiring filters slots, also of keys that are dead. */
  public final long size() { return size; }
}

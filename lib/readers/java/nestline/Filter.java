package nestline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/** A filter: it may say of an absent key that it is there, never the opposite of a present one. */
public final class Filter extends NestlineFile {
  private static final int GROUP = 64;

  private Filter(Object name, ByteBuffer[] pieces) throws FormatException {
    super(name, pieces, "a filter");
  }

  /** Maps a file and checks it. */
  public static Filter open(Path path) throws IOException { return new Filter(path, map(path)); }

  /** Copies the bytes of a file, from position to limit, and checks them. */
  public static Filter of(ByteBuffer file) throws FormatException {
    return new Filter("bytes", copy(file));
  }

  /** Copies the bytes of a file and checks them. */
  public static Filter of(byte[] file) throws FormatException { return of(ByteBuffer.wrap(file)); }

  /** Whether the integer may be there. */
  public boolean mayContain(long key) { return mayContainHash(hash(key)); }

  /** Whether the string may be there. */
  public boolean mayContain(String key) { return mayContainHash(hash(key)); }

  /** Whether the string of these bytes may be there. */
  public boolean mayContain(byte[] key) { return mayContainHash(hash(key)); }

  /** Whether a key of this hash may be there: a hash of the caller's, or one of {@code hash}. */
  public boolean mayContainHash(long hash) { return find(hash, mark(hash)) != 0; }

  /** Makes found[i] mayContain(keys[i]) for all integers; returns how many may be there. */
  public int mayContain(long[] keys, boolean[] found) {
    if (found.length < keys.length) throw new IllegalArgumentException("fewer answers than keys");
    long[] hashes = new long[GROUP];
    int[] marks = new int[GROUP];
    int all = 0;
    for (int start = 0; start < keys.length; start += GROUP) {
      int count = Math.min(GROUP, keys.length - start);
      for (int i = 0; i < count; i++) {  // these wait for memory beside each other
        hashes[i] = hash(keys[start + i]);
        marks[i] = mark(hashes[i]);
      }
      for (int i = 0; i < count; i++) {
        found[start + i] = find(hashes[i], marks[i]) != 0;
        if (found[start + i]) all++;
      }
    }
    return all;
  }

  /** How many copies of the integer there may be. */
  public int count(long key) { return countHash(hash(key)); }

  /** How many copies of the string there may be. */
  public int count(String key) { return countHash(hash(key)); }

  /** How many copies of the string of these bytes there may be. */
  public int count(byte[] key) { return countHash(hash(key)); }

  /** How many copies of keys of this hash there may be. */
  public int countHash(long hash) { return Integer.bitCount(find(hash, mark(hash))); }

  /** Whether it was made for keys that come and go. */
  public boolean turnsOver() { return turnsOver; }
}

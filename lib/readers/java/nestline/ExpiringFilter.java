package nestline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * An expiring filter, which forgets each key after its life.
 *
 * <p>Time is a number of ticks. Lookups name the tick that they ask about: {@link #tick}, at which
 * the file was saved, or a later one. They throw IllegalArgumentException for an earlier one.
 */
public final class ExpiringFilter extends NestlineFile {
  private ExpiringFilter(Object name, ByteBuffer[] pieces) throws FormatException {
    super(name, pieces, "an expiring filter");
  }

  /** Maps a file and checks it. */
  public static ExpiringFilter open(Path path) throws IOException {
    return new ExpiringFilter(path, map(path));
  }

  /** Copies the bytes of a file, from position to limit, and checks them. */
  public static ExpiringFilter of(ByteBuffer file) throws FormatException {
    return new ExpiringFilter("bytes", copy(file));
  }

  /** Whether the integer may be there and alive. */
  public boolean mayContain(long key, long tick) { return ticksLeft(hash(key), tick) > 0; }

  /** Whether the string may be there and alive. */
  public boolean mayContain(String key, long tick) { return ticksLeft(hash(key), tick) > 0; }

  /** Whether the string of these bytes may be there and alive. */
  public boolean mayContain(byte[] key, long tick) { return ticksLeft(hash(key), tick) > 0; }

  /** For how many ticks from this one on a key of this hash is alive; 0: it is not there. */
  public int ticksLeft(long hash, long tick) {
    long passed = tick - this.tick;
    if (passed < 0) throw new IllegalArgumentException("tick " + tick + " < " + this.tick);
    int most = 0;
    for (long death : values(hash)) most = Math.max(most, ticksLeft(death));
    return (int) Math.max(most - passed, 0);
  }

  /** The tick at which it was saved. */
  public long tick() { return tick; }

  /** Whole ticks that keys live at most, after the one of their insert. */
  public int life() { return life; }
}

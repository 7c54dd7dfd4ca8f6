package nestline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * An expiring filter, which forgets each key after its life. Time is a number of ticks.
 *
 * <p>Lookups are about {@link #tick}, at which the file was saved, but for {@link #ticksLeft}.
 */
public final class ExpiringFilter extends NestlineFile {
  private ExpiringFilter(Object name, ByteBuffer[] pieces) throws FormatException {
    super(name, pieces, "an expiring filter");
  }

  /** Maps a file and checks it. */
  public static ExpiringFilter open(Path path) throws IOException {
    return new ExpiringFilter(path, map(path));
  }

  /**
   * Copies the bytes of a file, from position to limit, and checks them. The copy is in direct
   * memory, of which a JVM has as much as of heap unless -XX:MaxDirectMemorySize=BYTES is given:
   * OutOfMemoryError if it is too little. {@link #open} copies nothing.
   */
  public static ExpiringFilter of(ByteBuffer file) throws FormatException {
    return new ExpiringFilter("bytes", copy(file));
  }

  /**
   * For how many ticks from this one on a key of this hash is alive; 0: it is not there. Throws
   * IllegalArgumentException for a tick before that of the file.
   */
  public int ticksLeft(long hash, long tick) {
    long passed = tick - this.tick;
    if (passed < 0) throw new IllegalArgumentException("tick " + tick + " < " + this.tick);
    int most = 0;
    for (long death : values(hash)) most = Math.max(most, ticksLeft(death));
    return (int) Math.max(most - passed, 0);
  }

  /** The tick at which it was saved. */
  public long tick() { return tick; }
}

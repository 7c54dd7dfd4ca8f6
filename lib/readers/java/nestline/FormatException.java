package nestline;

import java.io.IOException;

/** The bytes are no valid nestline file, or one of another kind. */
public final class FormatException extends IOException {
  private static final long serialVersionUID = 1;
  private final long offset;

  FormatException(String file, long offset, String cause) {
    super(file + ": at byte " + offset + ": " + cause);
    this.offset = offset;
  }

  /** Where in the file it is wrong, in bytes. */
  public long offset() { return offset; }
}

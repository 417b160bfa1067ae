package peers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/** Composite events as lines of ints: the rule, then what it is made of. Also from many threads. */
public final class Answers {
    private final int width;
    private int[] cells = new int[1024];
    private int used;

    public Answers(int width) {
        this.width = width;
    }

    /** Take a composite event. */
    public synchronized void add(int rule, int... rows) {
        if (rows.length != width) {
            throw new IllegalStateException("a composite event must have " + width + " numbers; got " + rows.length);
        }
        if (used + width + 1 > cells.length) {
            cells = Arrays.copyOf(cells, 2 * (cells.length + width));
        }
        cells[used++] = rule;
        System.arraycopy(rows, 0, cells, used, width);
        used += width;
    }

    /** Write all of them. */
    public void write(Path path) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(4 * used).order(ByteOrder.LITTLE_ENDIAN);
        buffer.asIntBuffer().put(cells, 0, used);
        try (FileChannel channel = FileChannel.open(path,
                StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            while (buffer.hasRemaining()) {
                channel.write(buffer);
            }
        }
    }
}

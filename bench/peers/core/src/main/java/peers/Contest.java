package peers;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A scenario and its events, read whole from the folder that Python wrote. */
public final class Contest {
    /** A column of the events: numbers, or places in a list of texts. */
    public record Column(String name, String[] texts) {}

    private record Header(
            String name,
            String form,
            int count,
            List<String> types,
            List<Column> columns,
            int width,
            long until,
            JsonObject engines) {}

    private final Header header;
    private final Event[] events;

    private Contest(Header header, Event[] events) {
        this.header = header;
        this.events = events;
    }

    /** Read a folder: `contest.json` and `events.bin`. */
    public static Contest read(Path folder) throws IOException {
        Header header = new Gson().fromJson(Files.readString(folder.resolve("contest.json")), Header.class);
        return new Contest(header, events(header, folder.resolve("events.bin")));
    }

    private static Event[] events(Header header, Path path) throws IOException {
        int count = header.count;
        Event[] events = new Event[count];
        try (FileChannel channel = FileChannel.open(path)) {
            ByteBuffer times = part(channel, 0, count, 8);
            ByteBuffer kinds = part(channel, 8L * count, count, 4);
            for (int row = 0; row < count; row++) {
                Event event = Event.of(header.form);
                event.row = row;
                event.ts = times.getLong();
                event.kind = kinds.getInt();
                events[row] = event;
            }
            long begin = 12L * count;
            for (Column column : header.columns) {
                fill(events, column, part(channel, begin, count, 4));
                begin += 4L * count;
            }
        }
        return events;
    }

    private static void fill(Event[] events, Column column, ByteBuffer numbers) {
        for (Event event : events) {
            int number = numbers.getInt();
            if (column.texts == null) {
                event.set(column.name, number);
            } else {
                // Equal texts are one object, as a reader with a dictionary would make them.
                event.set(column.name, column.texts[number]);
            }
        }
    }

    private static ByteBuffer part(FileChannel channel, long begin, int count, int size) throws IOException {
        long length = (long) count * size;
        return channel.map(FileChannel.MapMode.READ_ONLY, begin, length).order(ByteOrder.LITTLE_ENDIAN);
    }

    public String name() {
        return header.name;
    }

    public String form() {
        return header.form;
    }

    public List<String> types() {
        return header.types;
    }

    public List<Column> columns() {
        return header.columns;
    }

    /** How many numbers tell what a composite event is made of. */
    public int width() {
        return header.width;
    }

    /** How long time goes on after the last event, in milliseconds. */
    public long until() {
        return header.until;
    }

    public Event[] events() {
        return events;
    }

    /** What an engine is told: its rules, in its own language. */
    public JsonObject engine(String name) {
        return header.engines.getAsJsonObject(name);
    }
}

package peers;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** An engine that rules were given to. */
public interface Engine {
    /** Its name and version, and what else matters. */
    String version();

    /**
     * Run the first events through a new instance; the clock runs from the first event to the last answer.
     *
     * @param answers takes what composite events are made of, or null: then they are only counted
     * @param waits takes the nanoseconds of every event, or null
     */
    Run run(Event[] events, int count, Answers answers, long[] waits) throws Exception;

    /** Whether events go in one by one, so that the time of each can be taken. */
    default boolean waits() {
        return true;
    }

    /** The version of a library, as its own jar says. */
    static String released(String group, String artifact) {
        String path = "/META-INF/maven/" + group + "/" + artifact + "/pom.properties";
        try (InputStream file = Engine.class.getResourceAsStream(path)) {
            Properties said = new Properties();
            said.load(file);
            return said.getProperty("version");
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** One run: nanoseconds on the wall and of computing, composite events, bytes of state at the end. */
    record Run(long nanos, long computed, long composites, long state) {}
}

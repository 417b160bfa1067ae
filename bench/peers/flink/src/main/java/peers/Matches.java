package peers;

import java.io.Serializable;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.util.Collector;

/** Counts the matches of a pattern, and keeps what they are made of when asked to. */
final class Matches<E extends Event> extends PatternProcessFunction<E, Integer> {
    /** Which rule a match belongs to, and its rows. */
    interface Told<E> extends Serializable {
        int[] line(Map<String, List<E>> match);
    }

    private final Told<E> told;
    private transient long count;

    Matches(Told<E> told) {
        this.told = told;
    }

    @Override
    public void open(OpenContext context) {
        count = 0;
    }

    @Override
    public void processMatch(Map<String, List<E>> match, Context context, Collector<Integer> out) {
        count++;
        if (Job.keeps()) {
            int[] line = told.line(match);
            Job.keep(line[0], java.util.Arrays.copyOfRange(line, 1, line.length));
        }
    }

    @Override
    public void close() {
        Job.done(count);
    }
}

package peers;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A job in a local mini-cluster over events that are in memory already.
 *
 * <p>Objects are reused, nothing is checkpointed, state is on the heap, watermarks come at the default
 * interval; the source is one task, so that events come in order. What operators count and when they are
 * done is static: the cluster runs in this process.
 */
final class Job {
    private static Event[] events;
    private static Answers answers;
    private static Clock clock;
    private static final AtomicLong COMPOSITES = new AtomicLong();
    private static long nanos;
    private static long computed;

    private Job() {}

    static StreamExecutionEnvironment environment(int slots) {
        Configuration configuration = new Configuration();
        configuration.set(TaskManagerOptions.NUM_TASK_SLOTS, slots);
        configuration.set(TaskManagerOptions.NETWORK_MEMORY_MIN, MemorySize.parse("256m"));
        configuration.set(TaskManagerOptions.NETWORK_MEMORY_MAX, MemorySize.parse("256m"));
        configuration.set(RestOptions.BIND_PORT, "0");
        StreamExecutionEnvironment made = StreamExecutionEnvironment.createLocalEnvironment(slots, configuration);
        made.getConfig().enableObjectReuse();
        return made;
    }

    /** The events from the first to the count-th, with their times and watermarks. */
    static <E extends Event> SingleOutputStreamOperator<E> source(
            StreamExecutionEnvironment environment, Class<E> form, int count) {
        TypeInformation<E> type = TypeInformation.of(form);
        DataGeneratorSource<E> source = new DataGeneratorSource<>(
                number -> form.cast(at(number.intValue())), count, RateLimiterStrategy.noOp(), type);
        WatermarkStrategy<E> watermarks = WatermarkStrategy.<E>forMonotonousTimestamps()
                .withTimestampAssigner((event, before) -> event.ts);
        return environment.fromSource(source, watermarks, "events").returns(type).setParallelism(1);
    }

    private static Event at(int row) {
        if (row == 0) {
            clock = new Clock();
        }
        return events[row];
    }

    /** Run a job that was built for these events. */
    static Engine.Run run(StreamExecutionEnvironment environment, Event[] all, Answers kept) throws Exception {
        events = all;
        answers = kept;
        clock = new Clock();
        COMPOSITES.set(0);
        environment.execute();
        return new Engine.Run(nanos, computed, COMPOSITES.get(), 0);
    }

    static boolean keeps() {
        return answers != null;
    }

    static void keep(int rule, int... rows) {
        answers.add(rule, rows);
    }

    /** An operator is done; the last one stops the clock. */
    static synchronized void done(long composites) {
        COMPOSITES.addAndGet(composites);
        nanos = clock.nanos();
        computed = clock.computed();
    }
}

package peers;

import com.google.gson.JsonObject;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Flink: a job for every run; the clock runs from the first event to the end of the last operator. */
public final class FlinkRunner implements Engine {
    private final Contest contest;
    private final int slots;

    private FlinkRunner(Contest contest) {
        this.contest = contest;
        this.slots = Integer.getInteger("slots", 1);
    }

    public static void main(String[] arguments) throws Exception {
        Runner.main(arguments, FlinkRunner::new);
    }

    @Override
    public String version() {
        return "Flink " + org.apache.flink.runtime.util.EnvironmentInformation.getVersion();
    }

    @Override
    public boolean waits() {
        return false;
    }

    @Override
    public Run run(Event[] events, int count, Answers answers, long[] waits) throws Exception {
        StreamExecutionEnvironment environment = Job.environment(slots);
        if (Boolean.getBoolean("sql")) {
            Statements.build(environment, contest, count);
        } else {
            JsonObject told = contest.engine("flink");
            Patterns.build(told.get("pattern").getAsString(), environment, told, count);
        }
        return Job.run(environment, events, answers);
    }
}

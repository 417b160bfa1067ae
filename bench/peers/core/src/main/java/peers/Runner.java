package peers;

import com.google.gson.Gson;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.ToLongFunction;

/** Measures an engine on a contest and prints one line of JSON; the same steps for every engine. */
public final class Runner {
    /** Makes an engine for a contest: compiles its rules and so on, none of which is measured. */
    public interface Maker {
        Engine make(Contest contest) throws Exception;
    }

    private static final int FIRST = 1000;
    private static final double ENOUGH = 0.5e9;
    /** What passes before anything is measured, in nanoseconds of computing: the JVM compiles what runs often. */
    private static final double WARM = 5e9;

    private Runner() {}

    /** FOLDER ANSWERS CHECKED BUDGET REPEAT. */
    public static void main(String[] arguments, Maker maker) throws Exception {
        Path folder = Path.of(arguments[0]);
        int checked = Integer.parseInt(arguments[2]);
        double budget = 1e9 * Double.parseDouble(arguments[3]);
        Contest contest = Contest.read(folder);
        Event[] events = contest.events();
        long deploying = System.nanoTime();
        Engine engine = maker.make(contest);
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("deploy", (System.nanoTime() - deploying) / 1e9);
        measure(engine, events, budget, Integer.parseInt(arguments[4]), found);
        found.put("peak", Clock.peak());
        Answers answers = new Answers(contest.width());
        engine.run(events, Math.min(checked, events.length), answers, null);
        answers.write(Path.of(arguments[1]));
        found.put("version", engine.version());
        found.put("java", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"));
        System.out.println(new Gson().toJson(found));
        System.out.flush();
        Runtime.getRuntime().halt(0); // engines leave threads behind
    }

    private static void measure(
            Engine engine, Event[] events, double budget, int repeat, Map<String, Object> found) throws Exception {
        int count = affordable(engine, events, budget);
        for (double spent = 0; spent < WARM; ) {
            spent += Math.max(1, engine.run(events, count, null, null).computed());
        }
        Engine.Run[] runs = new Engine.Run[repeat];
        for (int turn = 0; turn < repeat; turn++) {
            runs[turn] = engine.run(events, count, null, null);
            if (runs[turn].composites() != runs[0].composites()) {
                throw new IllegalStateException("two runs must find the same number of composite events");
            }
        }
        found.put("events", count);
        found.put("composites", runs[0].composites());
        found.put("seconds", median(runs, Engine.Run::nanos) / 1e9);
        found.put("computed", median(runs, Engine.Run::computed) / 1e9);
        found.put("state", median(runs, Engine.Run::state));
        if (engine.waits()) {
            long[] waits = new long[count];
            engine.run(events, count, null, waits);
            Arrays.sort(waits);
            found.put("p50", waits[count / 2] / 1e3);
            found.put("p99", waits[(int) (0.99 * count)] / 1e3);
            found.put("p999", waits[(int) (0.999 * count)] / 1e3);
        }
    }

    /** How many events fit into a run that is not too long; the runs before it warm up. */
    private static int affordable(Engine engine, Event[] events, double budget) throws Exception {
        int count = Math.min(FIRST, events.length);
        while (true) {
            // Computing time: on a machine that others use too, the wall would tell of them.
            double nanos = Math.max(1, engine.run(events, count, null, null).computed());
            if (count == events.length || nanos >= Math.min(ENOUGH, budget)) {
                return (int) Math.min(events.length, Math.max(FIRST, count * Math.max(1e-3, budget / nanos)));
            }
            count = (int) Math.min(events.length, count * Math.min(8.0, 1.0 + ENOUGH / nanos));
        }
    }

    private static double median(Engine.Run[] runs, ToLongFunction<Engine.Run> of) {
        long[] sorted = Arrays.stream(runs).mapToLong(of).sorted().toArray();
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2.0;
    }
}

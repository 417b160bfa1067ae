package peers;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.core.stream.output.StreamCallback;
import java.util.ArrayList;
import java.util.List;

/**
 * Siddhi: an application in playback mode, so that time is that of the events, which come one by one.
 *
 * <p>After its query guide: streams, windows, joins, patterns and sequences, partitions, `@app:playback`.
 * Answers come to stream callbacks.
 */
public final class SiddhiRunner implements Engine {
    private final Contest contest;
    private final String application;
    private final int queries;
    private final Object[][] data;

    private SiddhiRunner(Contest contest) {
        this.contest = contest;
        JsonObject told = contest.engine("siddhi");
        JsonArray texts = told.getAsJsonArray("queries");
        this.queries = texts.size();
        this.application = application(contest, texts, told.get("partition"));
        this.data = new Object[contest.events().length][];
        for (peers.Event event : contest.events()) {
            data[event.row] = data(contest, event);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Runner.main(arguments, SiddhiRunner::new);
    }

    private static String application(Contest contest, JsonArray texts, JsonElement partition) {
        StringBuilder text = new StringBuilder("@app:playback\n");
        for (String type : contest.types()) {
            text.append("define stream ").append(type).append(" (row int, ts long");
            for (Contest.Column column : contest.columns()) {
                text.append(", ").append(column.name()).append(column.texts() == null ? " long" : " string");
            }
            text.append(");\n");
        }
        if (partition != null) {
            text.append(partition.getAsString()).append("\nbegin\n");
        }
        for (int rule = 0; rule < texts.size(); rule++) {
            text.append("@info(name = 'r").append(rule).append("') ").append(texts.get(rule).getAsString())
                    .append(" insert into Found").append(rule).append(";\n");
        }
        return partition == null ? text.toString() : text.append("end;\n").toString();
    }

    private static Object[] data(Contest contest, peers.Event event) {
        List<Object> cells = new ArrayList<>(List.of(event.row, event.ts));
        for (Contest.Column column : contest.columns()) {
            cells.add(event.get(column.name()));
        }
        return cells.toArray();
    }

    @Override
    public String version() {
        return "Siddhi " + Engine.released("io.siddhi", "siddhi-core");
    }

    @Override
    public Run run(peers.Event[] events, int count, Answers answers, long[] waits) throws Exception {
        SiddhiManager manager = new SiddhiManager();
        SiddhiAppRuntime runtime = manager.createSiddhiAppRuntime(application);
        List<Counted> counted = new ArrayList<>();
        for (int rule = 0; rule < queries; rule++) {
            counted.add(new Counted(rule, answers));
            runtime.addCallback("Found" + rule, counted.get(rule)); // a query in a partition has no name
        }
        InputHandler[] inputs = new InputHandler[contest.types().size()];
        for (int kind = 0; kind < inputs.length; kind++) {
            inputs[kind] = runtime.getInputHandler(contest.types().get(kind));
        }
        runtime.start();
        boolean large = answers == null && waits == null;
        long before = large ? Clock.alive() : 0;
        Clock clock = new Clock();
        for (int row = 0; row < count; row++) {
            long begin = waits == null ? 0 : System.nanoTime();
            peers.Event event = events[row];
            inputs[event.kind].send(event.ts, data[row]);
            if (waits != null) {
                waits[row] = System.nanoTime() - begin;
            }
        }
        if (contest.until() > 0 && count > 0) {
            last(inputs[inputs.length - 1], events[count - 1].ts + contest.until());
        }
        long nanos = clock.nanos();
        long computed = clock.computed();
        long state = large ? Clock.alive() - before : 0;
        long composites = counted.stream().mapToLong(one -> one.count).sum();
        runtime.shutdown();
        manager.shutdown();
        return new Run(nanos, computed, composites, state);
    }

    /** Time goes on with events only: one more, of nobody. */
    private void last(InputHandler input, long time) throws InterruptedException {
        List<Object> cells = new ArrayList<>(List.of(-1, time));
        for (Contest.Column column : contest.columns()) {
            cells.add(column.texts() == null ? (Object) 0L : "nobody");
        }
        input.send(time, cells.toArray());
    }

    private static final class Counted extends StreamCallback {
        private final int rule;
        private final Answers answers;
        private long count;

        Counted(int rule, Answers answers) {
            this.rule = rule;
            this.answers = answers;
        }

        @Override
        public void receive(Event[] added) {
            count += added.length;
            if (answers != null) {
                for (Event one : added) {
                    int[] rows = new int[one.getData().length];
                    for (int place = 0; place < rows.length; place++) {
                        rows[place] = (int) Math.round(((Number) one.getData(place)).doubleValue());
                    }
                    answers.add(rule, rows);
                }
            }
        }
    }
}

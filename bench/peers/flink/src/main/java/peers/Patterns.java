package peers;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * The contests as patterns of Flink CEP.
 *
 * <p>After Flink's documentation, "Event Processing (CEP)": individual patterns and conditions; combining
 * patterns (next, followedByAny, notFollowedBy, within, and notFollowedBy at the end with within); looping
 * patterns; after-match skip strategy. What no rule looks at is filtered before the shuffle.
 */
final class Patterns {
    private Patterns() {}

    static void build(String pattern, StreamExecutionEnvironment environment, JsonObject told, int count) {
        switch (pattern) {
            case "filters" -> filters(environment, told, count);
            case "routed" -> routed(environment, told, count);
            case "pair" -> pair(environment, told, count);
            case "run by time" -> runByTime(environment, told, count);
            case "run by number" -> runByNumber(environment, told, count);
            case "sequence" -> sequence(environment, told, count);
            case "logins" -> logins(environment, told, count);
            case "orders" -> orders(environment, told, count);
            case "rising" -> rising(environment, told, count);
            case "shoplifting" -> shoplifting(environment, told, count);
            default -> throw new IllegalArgumentException("no pattern is called " + pattern);
        }
    }

    // --- what all of them need ---------------------------------------------------------------------

    private static <E> SimpleCondition<E> is(org.apache.flink.api.common.functions.FilterFunction<E> test) {
        return SimpleCondition.of(test);
    }

    private static <E extends Event> SimpleCondition<E> kind(int kind) {
        return is(event -> event.kind == kind);
    }

    /** A condition on an event and the only one that was matched before under a name. */
    interface Pair<E> extends java.io.Serializable {
        boolean holds(E before, E event);
    }

    private static <E> IterativeCondition<E> after(String name, Pair<E> pair) {
        return new IterativeCondition<>() {
            @Override
            public boolean filter(E event, Context<E> context) throws Exception {
                for (E before : context.getEventsForPattern(name)) {
                    return pair.holds(before, event);
                }
                return false;
            }
        };
    }

    private static <E extends Event> void find(DataStream<E> events, Pattern<E, ?> pattern, Matches.Told<E> told) {
        CEP.pattern(events, pattern)
                .process(new Matches<>(told), TypeInformation.of(Integer.class))
                .sinkTo(new DiscardingSink<>());
    }

    /** The rows of the events that were matched under some names, all of one rule. */
    private static <E extends Event> Matches.Told<E> rows(String... names) {
        return match -> {
            int[] line = new int[1 + names.length];
            for (int place = 0; place < names.length; place++) {
                line[1 + place] = match.get(names[place]).get(0).row;
            }
            return line;
        };
    }

    private static Duration window(JsonObject told) {
        return Duration.ofMillis(told.get("window").getAsLong());
    }

    private static KeyedStream<Keyed, String> keyed(StreamExecutionEnvironment environment, int count) {
        return Job.source(environment, Keyed.class, count).keyBy(event -> event.key);
    }

    // --- the papers' -------------------------------------------------------------------------------

    /** A filter counts what it lets through, so that nothing follows it. */
    private static final class Filter extends RichFilterFunction<Reading> {
        private final int rule;
        private transient long count;

        Filter(int rule) {
            this.rule = rule;
        }

        @Override
        public void open(OpenContext context) {
            count = 0;
        }

        @Override
        public boolean filter(Reading event) {
            if (event.value != rule) {
                return false;
            }
            count++;
            if (Job.keeps()) {
                Job.keep(rule, event.row);
            }
            return true;
        }

        @Override
        public void close() {
            Job.done(count);
        }
    }

    private static void filters(StreamExecutionEnvironment environment, JsonObject told, int count) {
        DataStream<Reading> events = Job.source(environment, Reading.class, count);
        for (int rule = 0; rule < told.get("count").getAsInt(); rule++) {
            events.filter(new Filter(rule)).sinkTo(new DiscardingSink<>());
        }
    }

    /** Many rules of two events: one pattern, keyed by the rule. */
    private static void routed(StreamExecutionEnvironment environment, JsonObject told, int count) {
        int[][][] routes = new Gson().fromJson(told.get("routes"), int[][][].class);
        long[] windows = new Gson().fromJson(told.get("windows"), long[].class);
        long longest = java.util.Arrays.stream(windows).max().orElse(0);
        DataStream<Routed> events = Job.source(environment, Reading.class, count)
                .<Routed>flatMap((event, out) -> {
                    for (int[] route : routes[event.kind]) {
                        if (event.value > route[2]) {
                            out.collect(new Routed(event, route[0], route[1], windows[route[0]]));
                        }
                    }
                })
                .returns(Routed.class)
                .keyBy(event -> event.rule);
        Pattern<Routed, Routed> pattern = Pattern.<Routed>begin("first", AfterMatchSkipStrategy.noSkip())
                .where(is(event -> event.role == 0));
        if (told.get("policy").getAsString().equals("last")) {
            pattern = pattern.notFollowedBy("newer").where(is(event -> event.role == 0));
        }
        pattern = pattern.followedByAny("second").where(is(event -> event.role == 1));
        if (java.util.Arrays.stream(windows).distinct().count() > 1) {
            pattern = pattern.where(after("first", (first, event) -> event.ts - first.ts < first.window));
        }
        find(events, pattern.within(Duration.ofMillis(longest)), match -> {
            Routed first = match.get("first").get(0);
            return new int[] {first.rule, first.row, match.get("second").get(0).row};
        });
    }

    /** One rule of two events, by area. */
    private static void pair(StreamExecutionEnvironment environment, JsonObject told, int count) {
        long above = told.get("above").getAsLong();
        DataStream<Reading> events = Job.source(environment, Reading.class, count)
                .filter(event -> event.kind == 1 || event.value > above)
                .keyBy(event -> event.area);
        Pattern<Reading, Reading> pattern = Pattern.<Reading>begin("t", AfterMatchSkipStrategy.noSkip())
                .where(kind(0))
                .followedByAny("s")
                .where(kind(1))
                .within(window(told));
        find(events, pattern, rows("t", "s"));
    }

    private static DataStream<Reading> above(StreamExecutionEnvironment environment, JsonObject told, int count) {
        long above = told.get("above").getAsLong();
        return Job.source(environment, Reading.class, count).filter(event -> event.value > above);
    }

    private static void runByTime(StreamExecutionEnvironment environment, JsonObject told, int count) {
        long window = told.get("window").getAsLong();
        DataStream<Reading> events = above(environment, told, count).keyBy(event -> event.area);
        for (int rule = 0; rule < told.get("rules").getAsInt(); rule++) {
            int number = rule;
            Pattern<Reading, Reading> pattern = Pattern
                    .<Reading>begin("first", AfterMatchSkipStrategy.skipPastLastEvent())
                    .next("more").where(after("first", (first, event) -> event.ts - first.ts < window))
                    .oneOrMore().consecutive().greedy().optional()
                    .next("final").where(after("first", (first, event) -> event.ts - first.ts >= window));
            find(events, pattern, match ->
                    new int[] {number, match.get("first").get(0).row, match.get("final").get(0).row});
        }
    }

    private static void runByNumber(StreamExecutionEnvironment environment, JsonObject told, int count) {
        int size = told.get("number").getAsInt();
        DataStream<Reading> events = above(environment, told, count).keyBy(event -> event.area);
        for (int rule = 0; rule < told.get("rules").getAsInt(); rule++) {
            int number = rule;
            Pattern<Reading, Reading> pattern = Pattern
                    .<Reading>begin("run", AfterMatchSkipStrategy.skipPastLastEvent())
                    .times(size).consecutive();
            find(events, pattern, match -> {
                List<Reading> run = match.get("run");
                return new int[] {number, run.get(0).row, run.get(size - 1).row};
            });
        }
    }

    private static void sequence(StreamExecutionEnvironment environment, JsonObject told, int count) {
        int length = told.get("length").getAsInt();
        boolean simple = told.get("simple").getAsBoolean();
        boolean compared = told.get("compared").getAsBoolean();
        boolean negated = told.get("negated").getAsBoolean();
        int kinds = negated ? length + 1 : length;
        DataStream<Attributed> taken = Job.source(environment, Attributed.class, count)
                .filter(event -> event.kind < kinds && (!simple || event.kind != 0 || event.attr3 == 1));
        KeySelector<Attributed, Tuple2<Long, Long>> both = event -> Tuple2.of(event.attr1, event.attr2);
        DataStream<Attributed> events = told.get("second").getAsBoolean()
                ? taken.keyBy(both, TypeInformation.of(new org.apache.flink.api.common.typeinfo.TypeHint<>() {}))
                : taken.keyBy(event -> event.attr1);
        List<String> names = new ArrayList<>(List.of("x1"));
        Pattern<Attributed, Attributed> pattern = Pattern
                .<Attributed>begin("x1", AfterMatchSkipStrategy.noSkip())
                .where(kind(0));
        if (negated) {
            pattern = pattern.notFollowedBy("n").where(kind(length));
        }
        for (int k = 2; k <= length; k++) {
            names.add("x" + k);
            pattern = pattern.followedByAny("x" + k).where(kind(k - 1));
            if (compared && k == length) {
                pattern = pattern.where(after("x1", (first, event) -> first.attr4 < event.attr4));
            }
        }
        find(events, pattern.within(window(told)), rows(names.toArray(String[]::new)));
    }

    // --- users' ------------------------------------------------------------------------------------

    private static void logins(StreamExecutionEnvironment environment, JsonObject told, int count) {
        Pattern<Keyed, Keyed> pattern = Pattern.<Keyed>begin("a", AfterMatchSkipStrategy.noSkip())
                .where(kind(0))
                .next("b").where(kind(0))
                .next("c").where(kind(0))
                .next("s").where(kind(1))
                .within(window(told));
        find(keyed(environment, count), pattern, rows("a", "b", "c", "s"));
    }

    private static void orders(StreamExecutionEnvironment environment, JsonObject told, int count) {
        Pattern<Keyed, Keyed> pattern = Pattern.<Keyed>begin("o", AfterMatchSkipStrategy.noSkip())
                .where(kind(0))
                .notFollowedBy("p").where(kind(1))
                .within(window(told));
        find(keyed(environment, count), pattern, rows("o"));
    }

    private static void rising(StreamExecutionEnvironment environment, JsonObject told, int count) {
        Pattern<Keyed, Keyed> pattern = Pattern.begin("t0", AfterMatchSkipStrategy.noSkip());
        List<String> names = new ArrayList<>(List.of("t0"));
        for (int place = 1; place < told.get("length").getAsInt(); place++) {
            String before = "t" + (place - 1);
            names.add("t" + place);
            pattern = pattern.next("t" + place)
                    .where(after(before, (earlier, event) -> event.value > earlier.value));
        }
        find(keyed(environment, count), pattern, rows(names.toArray(String[]::new)));
    }

    private static void shoplifting(StreamExecutionEnvironment environment, JsonObject told, int count) {
        Pattern<Keyed, Keyed> pattern = Pattern.<Keyed>begin("x", AfterMatchSkipStrategy.noSkip())
                .where(kind(0))
                .notFollowedBy("y").where(kind(1))
                .followedByAny("z").where(kind(2))
                .within(window(told));
        find(keyed(environment, count), pattern, rows("x", "z"));
    }
}

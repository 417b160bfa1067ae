package peers;

import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.common.client.hook.exception.ExceptionHandler;
import com.espertech.esper.common.client.hook.exception.ExceptionHandlerFactory;
import com.espertech.esper.common.client.hook.exception.ExceptionHandlerFactoryContext;
import com.espertech.esper.common.client.util.TimeSourceType;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;
import com.espertech.esper.common.client.EventSender;
import com.google.gson.JsonElement;
import java.util.ArrayList;
import java.util.List;

/**
 * Esper: EPL compiled once, events sent one by one with a time of their own.
 *
 * <p>As the reference's chapter on performance advises: events are beans, sent by an event sender of their
 * type; results come to subscribers, not to listeners; time is external; no internal threads; dispatches
 * need not keep an order among threads, as there is only one.
 */
public final class EsperRunner implements Engine {
    private final Contest contest;
    private final Configuration configuration;
    private final EPCompiled compiled;
    private int instances;

    private EsperRunner(Contest contest) throws Exception {
        this.contest = contest;
        this.configuration = configuration(contest);
        StringBuilder module = new StringBuilder();
        for (JsonElement statement : contest.engine("esper").getAsJsonArray("statements")) {
            module.append(statement.getAsString()).append(";\n");
        }
        compiled = EPCompilerProvider.getCompiler()
                .compile(module.toString(), new CompilerArguments(configuration));
    }

    public static void main(String[] arguments) throws Exception {
        Runner.main(arguments, EsperRunner::new);
    }

    private static Configuration configuration(Contest contest) {
        Configuration made = new Configuration();
        for (String type : contest.types()) {
            made.getCommon().addEventType(type, Event.type(contest.form()));
        }
        made.getCompiler().getByteCode().setAllowSubscriber(true);
        made.getRuntime().getThreading().setInternalTimerEnabled(false);
        made.getRuntime().getThreading().setListenerDispatchPreserveOrder(false);
        made.getRuntime().getThreading().setInsertIntoDispatchPreserveOrder(false);
        // Errors of subscribers must come out: Esper would write them to its log and go on.
        made.getRuntime().getExceptionHandling().addClass(Rethrowing.class);
        made.getRuntime().getTimeSource().setTimeSourceType(TimeSourceType.MILLI);
        return made;
    }

    /** Hands on what went wrong. */
    public static final class Rethrowing implements ExceptionHandlerFactory {
        @Override
        public ExceptionHandler getHandler(ExceptionHandlerFactoryContext context) {
            return failure -> {
                throw new IllegalStateException(failure.getEpl(), failure.getThrowable());
            };
        }
    }

    @Override
    public String version() {
        return "Esper " + Engine.released("com.espertech", "esper-runtime");
    }

    @Override
    public Run run(Event[] events, int count, Answers answers, long[] waits) throws Exception {
        EPRuntime runtime = EPRuntimeProvider.getRuntime("run-" + instances++, configuration);
        runtime.initialize();
        EPEventService service = runtime.getEventService();
        service.clockExternal();
        service.advanceTime(count == 0 ? 0 : events[0].ts);
        List<Subscriber> subscribers = subscribe(runtime, answers);
        EventSender[] senders = contest.types().stream().map(service::getEventSender).toArray(EventSender[]::new);
        boolean large = answers == null && waits == null;
        long before = large ? Clock.alive() : 0;
        Clock clock = new Clock();
        for (int row = 0; row < count; row++) {
            long begin = waits == null ? 0 : System.nanoTime();
            Event event = events[row];
            service.advanceTime(event.ts);
            senders[event.kind].sendEvent(event);
            if (waits != null) {
                waits[row] = System.nanoTime() - begin;
            }
        }
        if (contest.until() > 0 && count > 0) {
            service.advanceTime(events[count - 1].ts + contest.until());
        }
        long nanos = clock.nanos();
        long computed = clock.computed();
        long state = large ? Clock.alive() - before : 0;
        long composites = subscribers.stream().mapToLong(one -> one.count).sum();
        runtime.destroy();
        return new Run(nanos, computed, composites, state);
    }

    private List<Subscriber> subscribe(EPRuntime runtime, Answers answers) throws Exception {
        List<Subscriber> subscribers = new ArrayList<>();
        for (EPStatement statement : runtime.getDeploymentService().deploy(compiled).getStatements()) {
            String name = statement.getName();
            if (name.matches("r\\d+")) {
                Subscriber subscriber = new Subscriber(Integer.parseInt(name.substring(1)), answers);
                statement.setSubscriber(subscriber);
                subscribers.add(subscriber);
            }
        }
        return subscribers;
    }

    /** Counts the composite events of a rule. */
    public static final class Subscriber {
        private final int rule;
        private final Answers answers;
        private long count;

        Subscriber(int rule, Answers answers) {
            this.rule = rule;
            this.answers = answers;
        }

        /** Esper finds this method by its name and form. */
        public void update(Object[][] added, Object[][] removed) {
            if (added == null) {
                return;
            }
            count += added.length;
            if (answers != null) {
                for (Object[] one : added) {
                    answers.add(rule, rows(one));
                }
            }
        }

        private static int[] rows(Object[] values) {
            int[] rows = new int[values.length];
            for (int place = 0; place < rows.length; place++) {
                rows[place] = (int) Math.round(((Number) values[place]).doubleValue());
            }
            return rows;
        }
    }
}

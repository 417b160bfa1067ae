package peers;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;

/**
 * The contests as Flink SQL over a view of the events.
 *
 * <p>After Flink's documentation, "Pattern Recognition" (MATCH_RECOGNIZE), "Joins" (interval joins) and
 * "Over Aggregation"; the view follows "DataStream API Integration": the time is that of the stream.
 */
final class Statements {
    private Statements() {}

    static void build(StreamExecutionEnvironment environment, Contest contest, int count) {
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        Schema.Builder schema = Schema.newBuilder()
                .column("row", DataTypes.INT().notNull())
                .column("kind", DataTypes.INT().notNull());
        for (Contest.Column column : contest.columns()) {
            schema.column(column.name(), column.texts() == null ? DataTypes.BIGINT().notNull() : DataTypes.STRING());
        }
        schema.columnByMetadata("moment", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
                .watermark("moment", "SOURCE_WATERMARK()");
        tables.createTemporaryView(
                "events", Job.source(environment, Event.type(contest.form()), count), schema.build());
        String text = contest.engine("flink-sql").get("sql").getAsString();
        tables.toDataStream(tables.sqlQuery(text)).flatMap(new Counted()).sinkTo(new DiscardingSink<>());
    }

    /** Counts the rows of the answer. */
    private static final class Counted extends RichFlatMapFunction<Row, Integer> {
        private transient long count;

        @Override
        public void open(OpenContext context) {
            count = 0;
        }

        @Override
        public void flatMap(Row row, Collector<Integer> out) {
            count++;
            if (Job.keeps()) {
                int[] rows = new int[row.getArity() - 1];
                for (int place = 0; place < rows.length; place++) {
                    rows[place] = ((Number) row.getField(place + 1)).intValue();
                }
                Job.keep(((Number) row.getField(0)).intValue(), rows);
            }
        }

        @Override
        public void close() {
            Job.done(count);
        }
    }
}

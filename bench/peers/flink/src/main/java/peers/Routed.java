package peers;

/** An event on its way to one of the rules that it concerns. */
public class Routed extends Event {
    public int rule;
    public int role;
    public long window;

    /** What Flink makes events of this class with. */
    public Routed() {}

    Routed(Event event, int rule, int role, long window) {
        this.row = event.row;
        this.ts = event.ts;
        this.rule = rule;
        this.role = role;
        this.window = window;
    }
}

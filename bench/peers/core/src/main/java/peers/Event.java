package peers;

/** An event as every engine takes it: a plain object, made before the clock starts. */
public class Event {
    public int row;
    public int kind;
    public long ts;

    public int getRow() {
        return row;
    }

    public int getKind() {
        return kind;
    }

    public long getTs() {
        return ts;
    }

    /** What the columns of a stream are called here; a class for each form of event. */
    public static Event of(String form) {
        return switch (form) {
            case "reading" -> new Reading();
            case "keyed" -> new Keyed();
            case "attributed" -> new Attributed();
            default -> throw new IllegalArgumentException("no event has the form " + form);
        };
    }

    /** The class of a form. */
    public static Class<? extends Event> type(String form) {
        return of(form).getClass();
    }

    /** Take a number. */
    public void set(String name, long number) {
        throw new IllegalArgumentException(getClass().getSimpleName() + " has no number " + name);
    }

    /** A number or a text. */
    public Object get(String name) {
        throw new IllegalArgumentException(getClass().getSimpleName() + " has no " + name);
    }

    /** Take a text. */
    public void set(String name, String text) {
        throw new IllegalArgumentException(getClass().getSimpleName() + " has no text " + name);
    }
}

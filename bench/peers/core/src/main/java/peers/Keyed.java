package peers;

/** Something that happens to a user, an order, a share or a tag. */
public class Keyed extends Event {
    public String key;
    public long value;

    public String getKey() {
        return key;
    }

    public long getValue() {
        return value;
    }

    @Override
    public Object get(String name) {
        return name.equals("key") ? key : (Object) value;
    }

    @Override
    public void set(String name, long number) {
        value = number;
    }

    @Override
    public void set(String name, String text) {
        key = text;
    }
}

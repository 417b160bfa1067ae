package peers;

/** A reading of a sensor in an area. */
public class Reading extends Event {
    public String area;
    public long value;

    public String getArea() {
        return area;
    }

    public long getValue() {
        return value;
    }

    @Override
    public Object get(String name) {
        return name.equals("area") ? area : (Object) value;
    }

    @Override
    public void set(String name, long number) {
        value = number;
    }

    @Override
    public void set(String name, String text) {
        area = text;
    }
}

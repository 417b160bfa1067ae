package peers;

/** An event of SASE's experiments. */
public class Attributed extends Event {
    public long attr1;
    public long attr2;
    public long attr3;
    public long attr4;

    public long getAttr1() {
        return attr1;
    }

    public long getAttr2() {
        return attr2;
    }

    public long getAttr3() {
        return attr3;
    }

    public long getAttr4() {
        return attr4;
    }

    @Override
    public Object get(String name) {
        return switch (name) {
            case "attr1" -> attr1;
            case "attr2" -> attr2;
            case "attr3" -> attr3;
            case "attr4" -> attr4;
            default -> super.get(name);
        };
    }

    @Override
    public void set(String name, long number) {
        switch (name) {
            case "attr1" -> attr1 = number;
            case "attr2" -> attr2 = number;
            case "attr3" -> attr3 = number;
            case "attr4" -> attr4 = number;
            default -> super.set(name, number);
        }
    }
}

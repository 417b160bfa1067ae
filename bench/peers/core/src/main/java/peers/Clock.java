package peers;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/** Times and memory of this process. */
public final class Clock {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final long wall = System.nanoTime();
    private final long computed = SYSTEM.getProcessCpuTime();

    /** Nanoseconds since this clock was made. */
    public long nanos() {
        return System.nanoTime() - wall;
    }

    /** Nanoseconds that all threads computed since, those of the compiler and the collector too. */
    public long computed() {
        return SYSTEM.getProcessCpuTime() - computed;
    }

    /** Bytes of objects that are alive. */
    public static long alive() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    /** The most bytes that the process ever had in memory. */
    public static long peak() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        return -1;
    }
}

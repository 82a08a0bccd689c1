// A turn of 10 ms. `Ticker collecting`: beside a thread that makes garbage; `Ticker locking`: under a lock that another thread has for
// 8 ms of work at a time; `Ticker fine`. Cures: a collector that stops less, or less garbage; less work under the lock. A real-time
// class for the whole program takes the CPU from others.
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

public final class Ticker {
    private static final long PERIOD = 10_000_000;
    private static final Object LOCK = new Object();
    private static volatile Object kept;

    private static void background(String name, Runnable what) {
        Thread thread = new Thread(what, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void litter() {
        Object[] all = new Object[4000];
        for (int i = 0; ; i++) {
            all[i % all.length] = new byte[4096];
            kept = all;
        }
    }

    private static void holdTheLock() {
        while (true) {
            synchronized (LOCK) {
                work(8_000_000);
            }
            LockSupport.parkNanos(5_000_000);
        }
    }

    private static void work(long nanos) {
        long until = System.nanoTime() + nanos;
        while (System.nanoTime() < until) {
            Thread.onSpinWait();
        }
    }

    public static void main(String[] words) throws Exception {
        String cpu = System.getenv("WITNESS_CPU"), seconds = System.getenv("WITNESS_SECONDS");
        if (cpu != null) {
            String self = Long.toString(ProcessHandle.current().pid());
            new ProcessBuilder("taskset", "-acp", cpu, self).redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor();
        }
        if (words[0].equals("collecting")) {
            background("litterer", Ticker::litter);
        }
        boolean locks = words[0].equals("locking");
        if (locks && !"less-work".equals(System.getenv("WITNESS_FIX"))) {
            background("holder", Ticker::holdTheLock);
        }
        double length = seconds == null ? 3 : Double.parseDouble(seconds);
        long from = System.nanoTime() + 1_000_000_000L, until = from + (long) (length * 1e9);
        double[] late = new double[100_000];
        int done = 0, over = 0;
        double sum = 0;
        for (long due = System.nanoTime() + PERIOD; System.nanoTime() < until; due += PERIOD) {
            long left = due - System.nanoTime();
            if (left > 0) {
                LockSupport.parkNanos(left);
            }
            if (locks) {
                synchronized (LOCK) {
                    kept = LOCK;
                }
            }
            long now = System.nanoTime();
            if (now > from) {
                late[done++] = (now - due) / 1e3;
                sum += (now - due) / 1e3;
                over += now - due > PERIOD ? 1 : 0;
            }
        }
        double[] all = Arrays.copyOf(late, Math.max(done, 1));
        Arrays.sort(all);
        System.out.printf(java.util.Locale.ROOT,
                "witness {\"done\":%d,\"over\":%d,\"mean\":%.1f,\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f}%n",
                done, over, sum / Math.max(done, 1), all[all.length / 2], all[all.length * 99 / 100], all[all.length - 1]);
        System.exit(0);
    }
}

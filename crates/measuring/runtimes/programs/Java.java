// How late Java's Thread.sleep returns, or LockSupport.parkNanos with a third argument `park`.
// The protocol is described in docs/probes.md.

import java.util.concurrent.locks.LockSupport;

final class Java {
    /** Readings kept before they are printed. */
    private static final int MOST = 4096;
    private static final long SECOND = 1_000_000_000;
    private static final int MILLISECOND = 1_000_000;

    /** On Linux, System.nanoTime is CLOCK_MONOTONIC. */
    private static long now() {
        return System.nanoTime();
    }

    /** Before Java 21, Thread.sleep rounds up to whole milliseconds. */
    private static void sleep(long length) throws InterruptedException {
        Thread.sleep(length / MILLISECOND, (int) (length % MILLISECOND));
    }

    /** parkNanos may return early for no reason, so it is called again until the time is over. */
    private static void park(long length) {
        long until = now() + length;
        for (long left = length; left > 0; left = until - now()) LockSupport.parkNanos(left);
    }

    public static void main(String[] words) throws InterruptedException {
        if (words.length < 2) System.exit(2);
        long length = Long.parseLong(words[0]);
        boolean parks = words.length > 2 && words[2].equals("park");
        String call = parks ? "LockSupport.parkNanos" : "Thread.sleep";
        System.out.println("howlate-probe 1 monotonic Java " + Runtime.version() + ": " + call);
        System.out.flush();

        long[] starts = new long[MOST];
        long[] ends = new long[MOST];
        int kept = 0;
        long nextPrint = now() + SECOND;
        for (long left = Long.parseLong(words[1]); left > 0; left--) {
            starts[kept] = now();
            if (parks) park(length);
            else sleep(length);
            long end = ends[kept++] = now();
            if (kept == MOST || end >= nextPrint || left == 1) {
                print(starts, ends, kept);
                kept = 0;
                nextPrint = now() + SECOND;
            }
        }
        System.out.println("end");
    }

    private static void print(long[] starts, long[] ends, int kept) {
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < kept; i++) lines.append(starts[i]).append(' ').append(ends[i]).append('\n');
        System.out.print(lines);
        System.out.flush();
    }
}

# How late Python's time.sleep returns. The protocol is described in docs/probes.md.
import sys
import time
from array import array

MOST = 4096  # readings kept before they are printed
SECOND = 1_000_000_000

length_ns, count = int(sys.argv[1]), int(sys.argv[2])
seconds = length_ns / SECOND
# https://docs.python.org/3/library/time.html#time.sleep
call = "clock_nanosleep" if sys.version_info >= (3, 11) else "select"
version = "{}.{}.{}".format(*sys.version_info[:3])
print("howlate-probe 1 monotonic Python {}: time.sleep, by {}".format(version, call), flush=True)

now = time.monotonic_ns
sleep = time.sleep
starts = array("q", [0] * MOST)
ends = array("q", [0] * MOST)
kept = 0
next_print = now() + SECOND
for left in range(count, 0, -1):
    starts[kept] = now()
    sleep(seconds)
    ends[kept] = end = now()
    kept += 1
    if kept == MOST or end >= next_print or left == 1:
        print("\n".join("%d %d" % pair for pair in zip(starts[:kept], ends[:kept])), flush=True)
        kept = 0
        next_print = now() + SECOND
print("end", flush=True)

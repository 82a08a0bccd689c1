# A loop of 5 ms beside a thread that computes: after each sleep it waits for the interpreter's lock, for its switch interval.
import threading
import time

over = False


def compute():
    number = 0
    while not over:
        number = (number * 3 + 1) % 1_000_003


def loop():
    following = time.monotonic()
    for _ in range(300):
        following += 0.005
        time.sleep(max(0, following - time.monotonic()))


threading.Thread(target=compute, daemon=True).start()
control = threading.Thread(target=loop)
control.start()
control.join()
over = True

"""A program that means harm to whoever records beside it: `recorder.py HOW [ARGUMENT]`. It prints a line when it has done it, and ends
when its input does."""
import array, mmap, os, socket, struct, sys, time

FIRST, RING, RINGS, LENGTH = 65536, 131072, 64, 65536 + 80 * 131072
WORD = struct.Struct("=Q")


def connected():
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.setblocking(False)
    one.connect(os.environ["HOWLATE_RECORDER"])
    return one


def hand_over(to, files, text=b"loops1\0\0"):
    to.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])


def snap(reason):
    connected().send(b"snap1\0\0\0" + WORD.pack(time.clock_gettime_ns(time.CLOCK_MONOTONIC)) + b"hostile".ljust(16, b"\0") + reason)


def memory():
    """Memory as a program with loops has it, and its words."""
    file = os.memfd_create("loops", os.MFD_ALLOW_SEALING)
    os.ftruncate(file, LENGTH)
    words = mmap.mmap(file, LENGTH)
    put(words, 0, {64: struct.unpack("=Q", b"howlate1")[0], 65: RINGS})
    import fcntl
    fcntl.fcntl(file, 1033, 7)  # F_ADD_SEALS: SEAL, SHRINK and GROW
    return file, words


def put(words, offset, values):
    for place, value in values.items():
        WORD.pack_into(words, offset + 8 * place, value)


def linger():
    """The recorder is the last that has a connection open which its end waits for."""
    listening = socket.create_server(("127.0.0.1", 0))
    for text in b"loops1\0\0", b"snap1\0\0\0", b"x":
        one = socket.create_connection(listening.getsockname())
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 100_000))
        one.setblocking(False)
        try:
            while one.send(bytes(1 << 16)):
                pass
        except BlockingIOError:
            pass
        hand_over(connected(), [one.fileno()] * 3, text)
        one.close()
    return listening


def forge():
    """A turn of somebody else's thread, due an hour ago."""
    file, words = memory()
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    for ring, (pid, due) in enumerate([(os.getpid(), now - 3500 * 10**9), (os.getpid(), now - 2 * 10**9), (int(sys.argv[2]), now - 2 * 10**9)]):
        at = FIRST + ring * RING
        put(words, at, {1: 10**6, 2: struct.unpack("=Q", b"forged\0\0")[0], 64: due, 65: now - 10**6, 66: now - 1000, 8: 1})
        put(words, at, {0: pid << 32 | int(sys.argv[2])})
    connection = connected()
    hand_over(connection, [file])
    return connection


def sparse():
    """Memory of which nothing is there but what says that there is."""
    all, connections = [memory() for _ in range(64)], []
    for file, words in all:
        for ring in range(RINGS):
            put(words, FIRST + ring * RING, {0: os.getpid() << 32 | os.getpid(), 1: 10**6})
        try:
            connections.append(connected())
            hand_over(connections[-1], [file])
        except OSError:
            pass
        time.sleep(0.02)
    for round in range(1, 16):
        for file, words in all:
            for ring in range(RINGS):
                put(words, FIRST + ring * RING, {8: 4096 * round})
        time.sleep(0.2)
    return connections


def flood():
    """Connections without end, and what there is to ask over them."""
    open, until = [], time.monotonic() + float(sys.argv[2])
    while time.monotonic() < until:
        try:
            open.append(connected())
            if len(open) % 3 == 0:
                open[-1].send(b"snap1\0\0\0" + bytes(24) + b"flood")
        except OSError:
            time.sleep(0.001)
        del open[:-100]


def turns():
    """Loops that miss each of their deadlines, as many and as often as there is room for."""
    all, connections, until = [memory() for _ in range(12)], [], time.monotonic() + float(sys.argv[2])
    for file, words in all:
        for ring in range(RINGS):
            put(words, FIRST + ring * RING, {0: os.getpid() << 32 | os.getpid(), 1: 10**5})
    written, again = [[0] * RINGS for _ in all], time.monotonic()
    while time.monotonic() < until:
        # Whoever records by now.
        if time.monotonic() >= again:
            connections, again = [], time.monotonic() + 5
            for file, words in all:
                try:
                    connections.append(connected())
                    hand_over(connections[-1], [file])
                except OSError:
                    pass
        for program, (file, words) in enumerate(all):
            for ring in range(RINGS):
                at, now = FIRST + ring * RING, time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                for turn in range(100):
                    place = 64 + (written[program][ring] + turn) % 4096 * 3
                    woke = now - (100 - turn) * 10**4
                    put(words, at, {place: woke - 10**6, place + 1: woke, place + 2: woke + 9000})
                written[program][ring] += 100
                put(words, at, {8: written[program][ring]})
    return connections


def lingering():
    """The same as `linger`, again and again."""
    until = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < until:
        try:
            linger()
        except OSError:
            time.sleep(0.01)


kept = {"flood": flood, "turns": turns, "lingering": lingering, "linger": linger, "forge": forge, "sparse": sparse}[sys.argv[1]]()
for last in range(5):
    try:
        snap(b"after it")
        break
    except OSError:
        time.sleep(0.1)
print("done", flush=True)
sys.stdin.read()

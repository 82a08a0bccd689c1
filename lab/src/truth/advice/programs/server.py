"""A server of others that is asked every 5 ms, and may be late because of others on its CPU: `server.py redis`, `server.py postgres`;
`server.py jack`: jackd with its dummy driver and the client `synth`, whose own stamps count. The server is what is watched.
Cures: a real-time class or a nice value for the server; `jackd -R` for JACK."""
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from witness import FIX, Witness

PERIOD = 0.005
NOBODY = 65534


def started(words, **how):
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how)


def connected(path):
    until = time.monotonic() + 15
    while True:
        try:
            one = socket.socket(socket.AF_UNIX)
            one.connect(path)
            return one
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def redis(folder):
    path = f"{folder}/redis"
    server = started(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder])
    connection = connected(path)

    def ask():
        connection.sendall(b"PING\r\n")
        connection.recv(100)

    return server, ask


def postgres(folder):
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    os.chown(folder, NOBODY, NOBODY)
    data = f"{folder}/data"
    making = ["initdb", "-D", data, "-U", "postgres", "--auth", "trust", "--no-sync", "--no-locale"]
    subprocess.run(making, check=True, cwd=folder, stdout=subprocess.DEVNULL, **as_nobody)
    server = started(["postgres", "-D", data, "-k", folder, "-c", "listen_addresses="], cwd=folder, **as_nobody)

    def answered(connection):
        """Until the server is ready for the next query."""
        text = b""
        while text[-6:-1] != b"Z\0\0\0\5":
            some = connection.recv(8192)
            if not some:
                raise OSError("the server hung up")
            text += some

    until = time.monotonic() + 15
    while True:
        try:
            connection = connected(f"{folder}/.s.PGSQL.5432")
            words = b"user\0postgres\0database\0postgres\0\0"
            connection.sendall(struct.pack("!ii", 8 + len(words), 196608) + words)
            answered(connection)
            break
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
    query = b"SELECT count(*) FROM pg_class\0"

    def ask():
        connection.sendall(b"Q" + struct.pack("!i", 4 + len(query)) + query)
        answered(connection)

    return server, ask


def jack(folder):
    real_time = "-R" if FIX == "own-switch" else "-r"
    server = started(["jackd", real_time, "-n", "witness", "-d", "dummy", "-r", "48000", "-p", "256"])
    time.sleep(0.5)
    # It prints the witness's line itself.
    client = subprocess.run(["./synth"], env=os.environ | {"JACK_DEFAULT_SERVER": "witness"}, check=False)
    server.send_signal(signal.SIGTERM)
    server.wait()
    sys.exit(client.returncode)


witness = Witness()
with tempfile.TemporaryDirectory() as place:
    server, ask = {"redis": redis, "postgres": postgres, "jack": jack}[sys.argv[1]](place)
    # What it took to begin is not counted.
    begun = time.monotonic() + 1
    witness.until += begun - witness.begun
    witness.begun = begun
    due = time.monotonic() + PERIOD
    while witness.goes_on():
        time.sleep(max(0, due - time.monotonic()))
        asked = time.monotonic()
        ask()
        witness.late(time.monotonic() - asked, PERIOD)
        due = max(due + PERIOD, time.monotonic())
    server.kill()
    server.wait()
witness.end()

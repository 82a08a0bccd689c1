"""Two processes with one id, one after the other: starts `PROGRAM victim`, ends it when it is told to by a line, and starts
`PROGRAM another` with its id at once. Source: clone3(2), `set_tid`."""

import ctypes
import os
import signal
import struct
import sys

program = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(1, signal.SIGKILL)


def child(name):
    libc.prctl(1, signal.SIGKILL)
    os.execv(program, [name])


def with_id(number):
    ids = (ctypes.c_int * 1)(number)
    arguments = struct.pack("<11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(ids), 1, 0)
    return libc.syscall(435, arguments, len(arguments))


victim = os.fork() or child("victim")
print(victim, flush=True)
sys.stdin.readline()
os.kill(victim, signal.SIGKILL)
os.waitpid(victim, 0)
another = with_id(victim)
if another == 0:
    child("another")
print(another if another == victim else os.strerror(ctypes.get_errno()), flush=True)
sys.stdin.readline()

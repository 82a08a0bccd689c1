"""A disk in memory that fails as it is told to: a file system in user space, by the kernel's own protocol.

    disk.py FOLDER FAULTS

mounts it on FOLDER and prints a line. FAULTS is a file with one fault a line, `write 5`: what is asked of the disk, and the
number of the error that it answers (errno(3)). It is read before each answer, so that a disk can fail and recover.
Source: Documentation/filesystems/fuse, <linux/fuse.h>
"""

import ctypes
import errno
import os
import signal
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK = 1, 2, 3, 4, 9, 10
OPEN, READ, WRITE, STATFS, RELEASE, FSYNC = 14, 15, 16, 17, 18, 20
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, FSYNCDIR = 25, 26, 27, 28, 29, 30
CREATE, INTERRUPT, BATCH_FORGET = 35, 36, 42
NAMES = {WRITE: "write", FSYNC: "sync", CREATE: "create", MKDIR: "create", UNLINK: "remove", OPEN: "open", READ: "read"}
WITHOUT_ANSWER = (FORGET, BATCH_FORGET, INTERRUPT)
SIZE, MODE = 1 << 3, 1 << 0


class Node:
    def __init__(self, number, mode):
        self.number, self.mode, self.content, self.entries = number, mode, bytearray(), {}

    def attributes(self):
        size = len(self.content)
        times = (0, 0, 0, 0, 0, 0)
        owner = (os.getuid(), os.getgid())
        return struct.pack("<QQQqqqIIIIIIIIII", self.number, size, -(-size // 512), *times, self.mode, 1, *owner, 0, 4096, 0)

    def entry(self):
        return struct.pack("<QQQQII", self.number, 0, 0, 0, 0, 0) + self.attributes()


class Disk:
    def __init__(self):
        self.nodes = {1: Node(1, stat.S_IFDIR | 0o700)}

    def make(self, folder, name, mode):
        node = Node(max(self.nodes) + 1, mode)
        self.nodes[node.number] = folder.entries[name] = node
        return node

    def answer(self, what, node, body):
        """The answer, or the number of an error."""
        folder = self.nodes[node] if node in self.nodes else None
        if what == INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 16, 12, 65536, 1, 0, 0, 0)
        if folder is None:
            return errno.ENOENT
        if what == LOOKUP:
            found = folder.entries.get(name_of(body))
            return found.entry() if found else errno.ENOENT
        if what in (GETATTR, SETATTR):
            if what == SETATTR:
                valid, size, mode = (struct.unpack_from("<" + kind, body, at)[0] for kind, at in (("I", 0), ("Q", 16), ("I", 68)))
                if valid & SIZE:
                    folder.content[size:] = bytes(max(0, size - len(folder.content)))
                if valid & MODE:
                    folder.mode = mode
            return struct.pack("<QII", 0, 0, 0) + folder.attributes()
        if what == MKDIR:
            return self.make(folder, name_of(body[8:]), stat.S_IFDIR | struct.unpack_from("<I", body)[0]).entry()
        if what == CREATE:
            return self.make(folder, name_of(body[16:]), struct.unpack_from("<I", body, 4)[0]).entry() + bytes(16)
        if what == UNLINK:
            return b"" if folder.entries.pop(name_of(body), None) else errno.ENOENT
        if what in (OPEN, OPENDIR):
            return bytes(16)
        if what == READ:
            offset, size = struct.unpack_from("<QI", body, 8)
            return bytes(folder.content[offset:offset + size])
        if what == WRITE:
            offset, size = struct.unpack_from("<QI", body, 8)
            folder.content[len(folder.content):] = bytes(max(0, offset - len(folder.content)))
            folder.content[offset:offset + size] = body[40:40 + size]
            return struct.pack("<II", size, 0)
        if what == READDIR:
            return self.listing(folder, struct.unpack_from("<Q", body, 8)[0])
        if what == STATFS:
            return struct.pack("<QQQQQIII28x", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096)
        return b"" if what in (RELEASE, FSYNC, FLUSH, RELEASEDIR, FSYNCDIR) else errno.ENOSYS

    @staticmethod
    def listing(folder, begin):
        text = b""
        for place, (name, node) in list(enumerate(folder.entries.items(), 1))[begin:]:
            one = struct.pack("<QQII", node.number, place, len(name), node.mode >> 12) + name
            one += bytes(-len(one) % 8)
            if len(text) + len(one) > 4096:
                break
            text += one
        return text


def name_of(body):
    return bytes(body).split(b"\0")[0]


def fault(path, what):
    with open(path) as file:
        for line in file:
            name, _, number = line.partition(" ")
            if name == NAMES.get(what):
                return int(number)
    return None


def main(folder, faults):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(1, signal.SIGKILL)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},default_permissions"
    if libc.mount(b"failing-disk", folder.encode(), b"fuse", 0, options.encode()):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    print("mounted", flush=True)
    disk = Disk()
    while True:
        try:
            asked = os.read(device, 1 << 18)
        except OSError as error:
            if error.errno == errno.ENOENT:
                continue
            # Unmounted.
            return
        _, what, unique, node = struct.unpack_from("<IIQQ", asked)
        if what in WITHOUT_ANSWER:
            continue
        answer = fault(faults, what) or disk.answer(what, node, asked[40:])
        failed = isinstance(answer, int)
        body = b"" if failed else answer
        os.write(device, struct.pack("<IiQ", 16 + len(body), -answer if failed else 0, unique) + body)


if __name__ == "__main__":
    main(*sys.argv[1:])

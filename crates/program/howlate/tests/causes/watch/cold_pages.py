# A loop of 20 ms that now and then reads pages of a file that are not in memory, which it makes at the path that it is given.
import mmap
import os
import random
import sys
import time

with open(sys.argv[1], "wb") as file:
    for _ in range(48):
        file.write(os.urandom(1 << 20))
    file.flush()
    os.fsync(file.fileno())
opened = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
pages = mmap.mmap(opened, 0, prot=mmap.PROT_READ)
pages.madvise(mmap.MADV_RANDOM)
following = time.monotonic()
for turn in range(150):
    following += 0.02
    time.sleep(max(0, following - time.monotonic()))
    if turn % 3 == 0:
        for _ in range(20):
            pages[random.randrange(len(pages))]

/* A loop of 5 ms that reads a page of a mapped file each turn; somebody short of memory takes them. Cure: lock the memory. */
#include "witness.h"
#include <fcntl.h>

#define PAGE 4096L
#define PAGES 4096L

static char *mapped;

static void *take(void *unused)
{
	name_thread("taker");
	for (;;) {
		madvise(mapped, PAGES * PAGE, MADV_PAGEOUT);
		sleep_for(4000);
	}
	return unused;
}

int main(void)
{
	char place[] = "cold.XXXXXX", page[PAGE];
	int file = mkstemp(place);
	unlink(place);
	memset(page, 1, sizeof(page));
	for (long i = 0; i < PAGES; i++)
		if (write(file, page, PAGE) != PAGE)
			return 3;
	fsync(file);
	mapped = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, file, 0);
	posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
	witness_begin();
	if (fixed("lock-memory") && mlockall(MCL_CURRENT | MCL_FUTURE))
		return 3;
	started(take, NULL);
	name_thread("control");
	real_time(80);
	long sum = 0, turn = 0;
	for (long due = now() + 5 * MILLI; witness_goes_on(); due += 5 * MILLI) {
		sleep_until(due);
		for (int i = 0; i < 20; i++)
			sum += mapped[(++turn * 7919 % PAGES) * PAGE];
		witness_late(now() - due, 5 * MILLI);
	}
	if (!sum)
		return 3;
	witness_end();
}

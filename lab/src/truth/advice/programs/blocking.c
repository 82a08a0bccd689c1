/* A loop of 2 ms (SCHED_FIFO 80) that blocks every 50th turn: `blocking pipe` writes 100 kB to a pipe whose reader takes 30 ms for
 * it, `blocking fsync` writes to a file and waits for the disk. Cure: another thread does that. More priority changes nothing. */
#include "witness.h"
#include <fcntl.h>

static int to_reader, to_writer, file;
static int is_pipe;
static char bytes[100000];

static void put(void)
{
	if (is_pipe)
		(void)!write(to_reader, bytes, sizeof(bytes));
	else if (pwrite(file, bytes, sizeof(bytes), 0) > 0)
		fsync(file);
}

static void *read_slowly(void *from)
{
	char some[10000];
	name_thread("reader");
	while (read((int)(long)from, some, sizeof(some)) > 0)
		sleep_for(3000);
	return NULL;
}

static void *write_instead(void *from)
{
	char one;
	name_thread("writer");
	while (read((int)(long)from, &one, 1) == 1)
		put();
	return NULL;
}

int main(int count, char **words)
{
	int ends[2], orders[2];
	char place[] = "blocking.XXXXXX";
	witness_begin();
	is_pipe = count > 1 && !strcmp(words[1], "pipe");
	file = mkstemp(place);
	unlink(place);
	if (pipe(ends) || pipe(orders))
		return 3;
	to_reader = ends[1];
	to_writer = orders[1];
	fcntl(to_writer, F_SETFL, O_NONBLOCK);
	started(read_slowly, (void *)(long)ends[0]);
	started(write_instead, (void *)(long)orders[0]);
	name_thread("control");
	real_time(80);
	long turn = 0;
	for (long due = now() + 2 * MILLI; witness_goes_on(); due += 2 * MILLI) {
		sleep_until(due);
		if (++turn % 50 == 0) {
			if (fixed("other-thread"))
				(void)!write(to_writer, "", 1);
			else
				put();
		}
		witness_late(now() - due, 2 * MILLI);
	}
	witness_end();
}

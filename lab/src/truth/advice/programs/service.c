/* Five threads: `client` asks `server`, which hands on to `worker`, which needs a mutex that `housekeeper` has for 2 ms of work
 * every 13 ms; `hog` computes all the time. Done: requests. Cures: a real-time class for `worker` and the others of the request,
 * with priority inheritance; never for the whole program, in which `hog` would have the CPU for good. `service inversion`: the
 * request's threads are SCHED_FIFO already, and what is left is the mutex. */
#include "witness.h"
#include <sys/socket.h>

static pthread_mutex_t mutex;
static int client_server[2], server_worker[2], worker_client[2];
static int is_real_time;

static void of_request(const char *name, int priority)
{
	name_thread(name);
	if (is_real_time)
		real_time(priority);
}

static void *serve(void *unused)
{
	char one[8];
	of_request("svc-server", 60);
	while (read(client_server[1], one, 8) == 8) {
		work(50);
		if (write(server_worker[1], one, 8) != 8)
			break;
	}
	return unused;
}

static void *do_work(void *unused)
{
	char one[8];
	of_request("svc-worker", 61);
	while (read(server_worker[0], one, 8) == 8) {
		pthread_mutex_lock(&mutex);
		work(100);
		pthread_mutex_unlock(&mutex);
		if (write(worker_client[1], one, 8) != 8)
			break;
	}
	return unused;
}

static void *keep_house(void *unused)
{
	name_thread("housekeeper");
	for (;;) {
		sleep_for(13000);
		pthread_mutex_lock(&mutex);
		work(2000);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void *hog(void *unused)
{
	name_thread("hog");
	for (;;)
		work(1000);
	return unused;
}

int main(int count, char **words)
{
	pthread_mutexattr_t attributes;
	char one[8] = { 0 };
	witness_begin();
	is_real_time = fixed("rt") || (count > 1 && !strcmp(words[1], "inversion"));
	pthread_mutexattr_init(&attributes);
	if (fixed("inherit") || fixed("rt"))
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &attributes);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, client_server) || pipe(server_worker) || pipe(worker_client))
		return 3;
	started(serve, NULL);
	started(do_work, NULL);
	started(keep_house, NULL);
	started(hog, NULL);
	of_request("svc-client", 59);
	while (witness_goes_on()) {
		sleep_for(5000);
		long asked = now();
		if (write(client_server[0], one, 8) != 8 || read(worker_client[0], one, 8) != 8)
			return 3;
		witness_late(now() - asked, 5 * MILLI);
	}
	witness_end();
}

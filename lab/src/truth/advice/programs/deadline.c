/* SCHED_DEADLINE, 1 ms in each 10 ms; every 20th job needs 3 ms of CPU and so takes 30 ms. Cure: a runtime of 4 ms. */
#include "witness.h"
#include <stdint.h>

struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

int main(void)
{
	struct attributes attributes = { .size = sizeof(attributes), .policy = SCHED_DEADLINE };
	long due, turn = 0;
	unsetenv("WITNESS_CPU"); /* The kernel refuses a thread that is bound. */
	witness_begin();
	attributes.runtime = (fixed("runtime") ? 4 : 1) * MILLI;
	attributes.deadline = attributes.period = 10 * MILLI;
	if (syscall(SYS_sched_setattr, 0, &attributes, 0)) {
		perror("sched_setattr");
		return 3;
	}
	for (due = now() + 10 * MILLI; witness_goes_on(); due += 10 * MILLI) {
		sleep_until(due);
		work(++turn % 20 ? 200 : 3000);
		witness_late(now() - due, 10 * MILLI);
	}
	witness_end();
}

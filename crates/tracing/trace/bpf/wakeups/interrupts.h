/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Timer interrupts, interrupt handlers, softirqs, and inter-processor interrupts of an idle CPU. */
#pragma once

#include "ring.h"
#include "stillness.h"
#include "throttling.h"

SEC("tp_btf/local_timer_entry")
int tick_begins(void *ctx)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	u64 now = bpf_ktime_get_ns();
	comes(c, now);
	c->interrupt = now;
	c->served = c->timer = 0;
	c->in_tick = 1;
	if (c->waiting)
		interrupted(c, now);
	return 0;
}

SEC("tp_btf/local_timer_exit")
int tick_ends(void *ctx)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	if (c->waiting || c->woke) {
		u64 now = bpf_ktime_get_ns();
		ended(c, now);
		push(c, now, TICK, 0, 0);
	}
	look_after_set_aside(c);
	c->timer = c->in_tick = 0;
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(timer_served, struct hrtimer *timer)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	u64 now = bpf_ktime_get_ns();
	s64 ahead = timer->base->offset; /* of CLOCK_MONOTONIC, where the timer is on another clock */
	if (!c->served)
		c->first_served = now;
	c->served = now;
	if (c->woke == 2) {
		c->woke = 1;
		c->next_timer[c->wakes & (KEPT - 1)] = now;
	}
	c->soft = timer->_softexpires - ahead;
	c->hard = timer->node.expires - ahead;
	c->timer = 1;
	return 0;
}

/* Since Linux 7.1 the timer device is armed after its interrupt, at the exit from it or at the end of a switch. At the exit, the
 * interrupted thread does not have the CPU yet: the interrupt lasts until the device is armed. */
SEC("tp_btf/hrtimer_rearm")
int BPF_PROG(rearmed, s64 next, _Bool deferred)
{
	struct cpu *c;
	if (!deferred || !(c = here()))
		return 0;
	u64 now = c->rearmed = bpf_ktime_get_ns();
	if (!c->waiting)
		return 0;
	struct event *last = &c->ring[(c->head - 1) & MASK];
	u32 kind = last->kind, id = last->id;
	if (kind != TICK && kind != INTERRUPT)
		return 0;
	u64 *end = &c->end[(c->over - 1) & (KEPT - 1)];
	if (*end == last->until)
		*end = now;
	push(c, now, kind, id, 0);
	return 0;
}

static __always_inline int called(void)
{
	struct cpu *c = here();
	struct task_struct *p = bpf_get_current_task_btf();
	if (c && c->waiting && !c->called && !p->pid)
		c->called = bpf_ktime_get_ns();
	return 0;
}

/* The interrupts by which a CPU notifies another one of a thread that it has woken; which one depends on the kernel. Attached only
 * for threads that are notified by other threads. */
SEC("tp_btf/call_function_single_entry")
int called_to_work(void *ctx)
{
	return called();
}

SEC("tp_btf/reschedule_entry")
int called_to_switch(void *ctx)
{
	return called();
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(handler_begins, int irq)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	u64 now = bpf_ktime_get_ns();
	comes(c, now);
	if (c->waiting)
		interrupted(c, now);
	c->handler = irq + 1;
	c->handler_began = now;
	if (!c->in_tick)
		c->served = 0;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(handler_ends, int irq)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	if (c->waiting || c->woke) {
		u64 now = bpf_ktime_get_ns();
		ended(c, now);
		push(c, now, INTERRUPT, irq, 0);
	}
	c->handler = 0;
	if (!c->in_tick)
		c->timer = 0;
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(deferred, u32 vector)
{
	struct cpu *c;
	if (vector != HRTIMER || !(c = here()) || c->deferred.at)
		return 0;
	struct task_struct *p = bpf_get_current_task_btf();
	c->deferred.at = c->in_tick ? c->interrupt : c->handler ? c->handler_began : bpf_ktime_get_ns();
	c->deferred.idle_since = p->pid ? 0 : c->idle_since;
	c->deferred.pid = p->pid;
	copy(c->deferred.comm, p->comm);
	__sync_fetch_and_add(&c->waiting, 1);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, u32 vector)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	if (c->waiting)
		interrupted(c, bpf_ktime_get_ns());
	c->softirq = vector + 1;
	c->served = 0;
	if (vector == HRTIMER && c->deferred.at) {
		c->serving = c->deferred;
		c->deferred.at = 0;
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, u32 vector)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	if (c->waiting)
		push(c, bpf_ktime_get_ns(), SOFTIRQ, vector, 0);
	if (vector == HRTIMER && c->serving.at) {
		c->serving.at = 0;
		if (c->waiting)
			__sync_fetch_and_sub(&c->waiting, 1);
	}
	c->softirq = c->timer = 0;
	return 0;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A scheduler that lets a thread called `starved` wait for 20 ms, whatever its CPU does meanwhile, and adds up how long it did. That
 * thread is bound to the first CPU; the kernel gives any other an idle CPU without asking. All others take turns. */
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define KERNEL __attribute__((preserve_access_index))
#define SCX_DSQ_GLOBAL 0x8000000000000001ULL /* any CPU takes threads from it */
enum { HELD = 20000000, SLICE = 20000000, TIMEOUT_MS = 5000 };

struct task_struct {
	int pid;
	char comm[16];
} KERNEL;

/* With the fields used here only. */
struct sched_ext_ops {
	void (*enqueue)(struct task_struct *p, __u64 flags);
	void (*dispatch)(__s32 cpu, struct task_struct *prev);
	__u32 timeout_ms;
	char name[128];
};

extern void scx_bpf_dsq_insert(struct task_struct *p, __u64 queue, __u64 slice, __u64 flags) __ksym;
extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;

int held;
__u64 since, times, sum;

SEC("struct_ops/enqueue")
int BPF_PROG(takes, struct task_struct *p, __u64 flags)
{
	static const char starved[8] = "starved";
	if (!held && *(__u64 *)p->comm == *(const __u64 *)starved) {
		held = p->pid;
		since = bpf_ktime_get_ns();
	} else {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SLICE, flags);
	}
	return 0;
}

SEC("struct_ops/dispatch")
int BPF_PROG(gives, __s32 cpu, struct task_struct *prev)
{
	__u64 now = bpf_ktime_get_ns();
	if (cpu || !held || now - since < HELD)
		return 0;
	struct task_struct *p = bpf_task_from_pid(held);
	held = 0;
	if (!p)
		return 0;
	times++;
	sum += now - since;
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SLICE, 0);
	bpf_task_release(p);
	return 0;
}

SEC(".struct_ops")
struct sched_ext_ops starver = {
	.enqueue = (void *)takes,
	.dispatch = (void *)gives,
	.timeout_ms = TIMEOUT_MS,
	.name = "starver",
};

char _license[] SEC("license") = "GPL";

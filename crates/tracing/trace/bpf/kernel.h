/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernel's types, with only the fields used here. CO-RE finds each field in the running kernel, whatever the structure around
 * it is called: `hrtimer.node` is a `timerqueue_node` up to Linux 7.0, and a `timerqueue_linked_node` since.
 *
 * A number whose width has changed, or whose sign does not matter, is unsigned here: the loader then reads as many bytes as the
 * kernel has; with a signed one, it refuses the whole object. A field that some kernels lack is checked with
 * `bpf_core_field_exists` wherever it is read; `testdata/kernels/` has the types of each kernel. */
#pragma once

#define KERNEL __attribute__((preserve_access_index))

struct timerqueue_node {
	__s64 expires;
} KERNEL;

struct hrtimer_clock_base {
	__s64 offset;
} KERNEL;

struct hrtimer {
	struct timerqueue_node node;
	__s64 _softexpires;
	void *function;
	struct hrtimer_clock_base *base;
} KERNEL;

struct thread_info {
	unsigned long flags;
	__u32 cpu;
} KERNEL;

struct rt_rq {
	unsigned int rt_nr_running; /* ready, and of no group that is throttled */
	unsigned int rt_throttled;
} KERNEL;

struct task_struct;

struct rq {
	struct rt_rq rt;
	__u64 clock;
	int cpu;
	struct task_struct *curr;
	__u64 prev_steal_time_rq; /* steal time of the CPU, at the last update of its clock */
} KERNEL;

struct cfs_rq {
	unsigned int throttle_count;
	struct rq *rq;
} KERNEL;

struct sched_entity {
	unsigned long long sum_exec_runtime;
	struct cfs_rq *cfs_rq;
} KERNEL;

/* Without real-time group scheduling it has no `rt_rq`. */
struct sched_rt_entity {
	struct rt_rq *rt_rq;
} KERNEL;

struct sched_dl_entity {
	unsigned dl_throttled : 1; /* its runtime is used up */
} KERNEL;

/* The scheduler's own statistics of a thread, on the clock of its run queue. */
struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay, last_arrival, last_queued;
} KERNEL;

/* Of Linux 6.12 on, if it has sched_ext. */
struct sched_ext_entity {
	unsigned int flags; /* 1 (SCX_TASK_QUEUED): ready or running, and scheduled by a program of BPF */
} KERNEL;

struct task_struct {
	struct thread_info thread_info;
	int pid, tgid, prio, static_prio;
	unsigned int on_rq, on_cpu; /* int; a byte since Linux 7.1 */
	unsigned int exit_state, flags, __state, policy, rt_priority;
	unsigned frozen : 1; /* by the freezer of cgroup v2; while stopped by a signal as well */
	unsigned long nivcsw;
	unsigned long long timer_slack_ns;
	struct sched_entity se;
	struct sched_rt_entity rt;
	struct sched_dl_entity dl;
	struct sched_info sched_info;
	struct sched_ext_entity scx;
	struct task_struct *group_leader, *real_parent;
	char comm[16];
} KERNEL;

/* From 6.18 on each thread of a throttled group is dequeued by itself. */
struct task_struct___throttled {
	_Bool throttled;
} KERNEL;

/* Registers of a thread when it entered the kernel. */
struct pt_regs {
	unsigned long di, si, orig_ax;
} KERNEL;

struct pt_regs___arm64 {
	__u64 regs[31];
	int syscallno;
} KERNEL;

struct sock_common {
	unsigned short skc_family, skc_num;
	unsigned char skc_state;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
	unsigned short sk_type;
} KERNEL;

struct socket {
	struct sock *sk;
} KERNEL;

struct unix_sock {
	void *addr;
} KERNEL;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} KERNEL;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} KERNEL;

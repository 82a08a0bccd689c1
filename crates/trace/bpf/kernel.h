/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernel's types, with the fields used here only. CO-RE finds each field in the kernel that runs. */
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
	struct hrtimer_clock_base *base;
} KERNEL;

struct thread_info {
	__u32 cpu;
} KERNEL;

struct rt_rq {
	int rt_throttled;
} KERNEL;

struct rq {
	struct rt_rq rt;
} KERNEL;

struct cfs_rq {
	int throttle_count;
	struct rq *rq;
} KERNEL;

struct sched_entity {
	struct cfs_rq *cfs_rq;
} KERNEL;

/* Without groups of real-time threads it has no `rt_rq`. */
struct sched_rt_entity {
	struct rt_rq *rt_rq;
} KERNEL;

struct task_struct {
	struct thread_info thread_info;
	int pid, tgid, prio, on_rq;
	struct sched_entity se;
	struct sched_rt_entity rt;
	char comm[16];
} KERNEL;

/* From 6.18 on each thread of a group without quota is set aside by itself. */
struct task_struct___throttled {
	_Bool throttled;
} KERNEL;

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Included by every program: the BPF interface of the kernel, and hints for its verifier. */
#pragma once

#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "kernel.h"

typedef __u64 u64;
typedef __u32 u32;
typedef __s64 s64;

/* For functions with many paths: the verifier checks a global function once, by itself, and a static one again on every path
 * that calls it. Loading takes a fifth of the time. */
#define VERIFIED_ONCE __noinline

/* The verifier of Linux 6.1 knows a bound only for the register that was compared: `OPAQUE` keeps the compiler from using
 * another one. */
#define OPAQUE(n) asm volatile("" : "+r"(n))

/* Its total CPU time, which is updated at ticks and switches only. */
static __always_inline u64 account_of(struct task_struct *p)
{
	return bpf_core_field_exists(p->se.sum_exec_runtime) ? p->se.sum_exec_runtime : 0;
}

/* Whether a program of BPF decides when it runs (sched_ext); it is ready or running. */
static __always_inline u32 is_scheduled_by_bpf(struct task_struct *p)
{
	return bpf_core_field_exists(p->scx) && p->scx.flags & 1;
}

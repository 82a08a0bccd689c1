/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What every program begins with: the interface of the kernel's programs, and what its verifier wants to be told. */
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

/* For functions with many paths through them: the verifier looks at a global one once, by itself, and at a static one again
 * wherever a path comes to it. Loading takes a fifth of the time. */
#define VERIFIED_ONCE __noinline

/* Linux 6.1's verifier knows a bound only of the very register that was compared: `OPAQUE` keeps the compiler from using
 * another. */
#define OPAQUE(n) asm volatile("" : "+r"(n))

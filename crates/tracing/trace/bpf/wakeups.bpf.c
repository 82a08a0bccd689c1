// SPDX-License-Identifier: MIT OR Apache-2.0
/* Follows wake-ups of the watched processes from the timer's interrupt to the switch.
 *
 * What is on the way only stamps: dispatching a program is most of its cost, and a watched thread's sleep is summed up
 * and sent when it goes to sleep again. Per CPU there is a ring of "until then the CPU was this one's", written only
 * while a watched thread waits for that CPU.
 *
 * In the order of a sleep's end: interrupts, waking, switches; beside it lives, loops and stops. What they share: what is kept
 * (state), who had a CPU (ring), what a wait for one came to (waiting), groups without time (throttling), and the record
 * that is sent (sleeps). */
#include "wakeups/interrupts.h"
#include "wakeups/waking.h"
#include "wakeups/switches.h"
#include "wakeups/lives.h"
#include "wakeups/loops.h"
#include "wakeups/stops.h"

char _license[] SEC("license") = "Dual MIT/GPL";

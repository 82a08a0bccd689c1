// SPDX-License-Identifier: MIT OR Apache-2.0
/* Follows wake-ups of the watched processes from the timer interrupt to the switch.
 *
 * Programs on this path only store times: their dispatch is most of their cost, and the record of a sleep is completed and sent
 * when the thread goes to sleep again. Each CPU has a ring of occupants with the end of their time, written only while a watched
 * thread waits for that CPU.
 *
 * In the order of the end of a sleep: interrupts, waking, switches; besides these lives, loops, stops and requests. They share the state
 * between events (state), the occupants of a CPU (ring), the sums of a wait (waiting), throttled groups (throttling), and the
 * record that is sent (sleeps). */
#include "wakeups/interrupts.h"
#include "wakeups/waking.h"
#include "wakeups/switches.h"
#include "wakeups/lives.h"
#include "wakeups/loops.h"
#include "wakeups/stops.h"
#include "wakeups/requests.h"

char _license[] SEC("license") = "Dual MIT/GPL";

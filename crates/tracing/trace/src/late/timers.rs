//! Finds the kernel functions that expiring timers call, by which the BPF side knows which thread a timer wakes. Their addresses are
//! secret except to the most privileged users: this thread sets such timers, and the BPF side sees what is called for them.

use std::io;

use aya::Ebpf;
use aya::maps::Array;
use howlate_linux::{clock, thread};
use howlate_model::{Span, TracerRefusal};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::loading::{damaged, refusal};

const MAP: &str = ".data.functions";
/// `enum called` of `bpf/late.bpf.c`.
const SLEEP: u32 = 1;
const TIMERFD: u32 = 2;

/// Lets the BPF side record all of them.
pub(super) fn find_functions(kernel: &mut Ebpf) -> Result<(), TracerRefusal> {
    let refused = |error: &(dyn std::error::Error + 'static)| refusal("tell what it calls for timers", error);
    let map = kernel.map_mut(MAP).ok_or_else(|| damaged(MAP))?;
    let mut functions: Array<_, [u64; 3]> = Array::try_from(map).map_err(|error| refused(&error))?;
    for function in [SLEEP, TIMERFD] {
        let [_, functions_found @ ..] = functions.get(&0, 0).map_err(|error| refused(&error))?;
        let next = u64::from(thread::id()) | u64::from(function) << 32;
        functions
            .set(0, [next, functions_found[0], functions_found[1]], 0)
            .map_err(|error| refused(&error))?;
        let set = if function == SLEEP { clock::sleep_for(Span::from_nanos(1)) } else { set_timerfd() };
        set.map_err(|error| refused(&error))?;
    }
    let [_, functions_found @ ..] = functions.get(&0, 0).map_err(|error| refused(&error))?;
    if functions_found.contains(&0) {
        let doing = "tell what it calls for timers".to_owned();
        return Err(TracerRefusal::Kernel { doing, reason: "it has shown nothing".to_owned() });
    }
    Ok(())
}

/// A timer that is closed before it expires.
fn set_timerfd() -> io::Result<()> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let (never, later) = (clock::timespec_for(Span::ZERO), clock::timespec_for(Span::from_secs(1)));
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: never, it_value: later })?;
    Ok(())
}

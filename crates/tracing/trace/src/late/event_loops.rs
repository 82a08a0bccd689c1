//! Event loops that stay away from their events: two programs on the way into the call in which they wait, and out of it.
//!
//! `epoll_wait(2)` and its variants are one function of the kernel's (`do_epoll_wait` of `fs/eventpoll.c`). A kernel that has it not,
//! or that takes no such programs (`CONFIG_FUNCTION_TRACER`), tells nothing of event loops.

use aya::programs::{FEntry, FExit};
use aya::{Btf, Ebpf};
use howlate_model::TracerRefusal;

use crate::loading::{damaged, not_loaded, refusal};

const FUNCTION: &str = "do_epoll_wait";
const WAITS: &str = "loop_waits";
const RETURNS: &str = "loop_returns";

/// Loads and attaches both, or neither.
pub(super) fn attach(kernel: &mut Ebpf, types: &Btf) -> Result<(), TracerRefusal> {
    both(kernel, types).map_err(|refused| match refused {
        // Other programs were taken: what is not permitted is to follow functions, whoever asks.
        TracerRefusal::NotPermitted => TracerRefusal::Kernel {
            doing: format!("let a program follow its function {FUNCTION}"),
            reason: "operation not permitted, though it takes programs for its tracepoints; that is this kernel's own policy, \
                     which no right of a user changes"
                .to_owned(),
        },
        refused => refused,
    })
}

fn both(kernel: &mut Ebpf, types: &Btf) -> Result<(), TracerRefusal> {
    let refused = |error: &(dyn std::error::Error + 'static)| refusal("follow event loops", error);
    let waits = kernel.program_mut(WAITS).ok_or_else(|| damaged(WAITS))?;
    let waits: &mut FEntry = waits.try_into().map_err(|_| damaged(WAITS))?;
    waits.load(FUNCTION, types).map_err(|error| not_loaded(FUNCTION, &error))?;
    let returns = kernel.program_mut(RETURNS).ok_or_else(|| damaged(RETURNS))?;
    let returns: &mut FExit = returns.try_into().map_err(|_| damaged(RETURNS))?;
    returns.load(FUNCTION, types).map_err(|error| not_loaded(FUNCTION, &error))?;
    // Who has waited is known before it is asked who returns.
    returns.attach().map_err(|error| refused(&error))?;
    let waits = kernel.program_mut(WAITS).ok_or_else(|| damaged(WAITS))?;
    let waits: &mut FEntry = waits.try_into().map_err(|_| damaged(WAITS))?;
    waits.attach().map(drop).map_err(|error| refused(&error))
}

//! Loads BPF programs, and explains refusals.

use std::io;

use aya::programs::fexit::FExitLinkId;
use aya::programs::{BtfTracePoint, FExit, ProgramError};
use aya::{Btf, BtfError, Ebpf};
use howlate_model::TracerRefusal;
use howlate_procfs::{Kernel, Root, bracketed_choice};

use crate::missing_events::EventNeed;

/// A BPF program, the event it is attached to, and whether it is required.
#[derive(Clone, Copy)]
pub(crate) struct BpfProgram {
    pub(crate) name: &'static str,
    pub(crate) event: &'static str,
    pub(crate) need: EventNeed,
}

/// A program whose event is required.
pub(crate) const fn required(name: &'static str, event: &'static str) -> BpfProgram {
    BpfProgram { name, event, need: EventNeed::Required }
}

/// A program whose event the kernel may lack.
pub(crate) const fn optional(name: &'static str, event: &'static str, need: EventNeed) -> BpfProgram {
    BpfProgram { name, event, need }
}

/// Loads a program. `false`: the kernel refuses it, for example for lack of its event, and it is not required.
pub(crate) fn load(kernel: &mut Ebpf, program: &BpfProgram, types: &Btf) -> Result<bool, TracerRefusal> {
    let loaded = tracepoint(kernel, program.name)?.load(program.event, types);
    match &loaded {
        Ok(()) => log::debug!("program {}: loaded", program.name),
        Err(error) => log::debug!("program {} for {}: {error}", program.name, program.event),
    }
    match loaded {
        Ok(()) => Ok(true),
        Err(_) if program.need != EventNeed::Required => Ok(false),
        Err(error) => Err(not_loaded(program.event, &error)),
    }
}

/// Why the kernel refuses a program of this event or function.
pub(crate) fn not_loaded(event: &str, error: &ProgramError) -> TracerRefusal {
    let doing = format!("load its program for {event}");
    match error {
        ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => {
            TracerRefusal::EventMissing { name: event.to_owned() }
        }
        ProgramError::LoadError { io_error, verifier_log }
            if let Some(word) = verifier_reason(&verifier_log.to_string()) =>
        {
            TracerRefusal::Kernel { doing, reason: format!("{io_error}: {word}") }
        }
        error => refusal(&doing, error),
    }
}

/// A program of the object.
pub(crate) fn tracepoint<'a>(
    kernel: &'a mut Ebpf,
    name: &'static str,
) -> Result<&'a mut BtfTracePoint, TracerRefusal> {
    let program = kernel.program_mut(name).ok_or_else(|| damaged(name))?;
    program.try_into().map_err(|_| damaged(name))
}

/// The two programs that see lazy and firm requests to leave a CPU: `bpf/resched.h`.
#[derive(Debug, Default)]
pub(crate) struct ReschedRequests {
    are_loaded: bool,
    attached: Vec<(&'static str, FExitLinkId)>,
}

impl ReschedRequests {
    const PROGRAMS: [(&str, &str); 2] =
        [("firm_request", "resched_curr"), ("lazy_request", "resched_curr_lazy")];

    /// Loads them where requests may be lazy; without them, waits are not divided by it.
    pub(crate) fn load(kernel: &mut Ebpf, types: &Btf, root: &Root) -> Self {
        let model = root.read("/sys/kernel/debug/sched/preempt").ok();
        let may_be_lazy = model.as_deref().and_then(bracketed_choice).is_none_or(|model| model == "lazy");
        // Real-time patches before had functions of these names for a request of their own.
        let may_be_lazy = may_be_lazy && Kernel::read(root).at_least(6, 13) == Some(true);
        let mut loads = |(name, function): (&'static str, &str)| {
            let loaded = fexit(kernel, name).and_then(|program| {
                program.load(function, types).map_err(|error| not_loaded(function, &error))
            });
            loaded.inspect_err(|refused| log::debug!("program {name} for {function}: {refused}")).is_ok()
        };
        Self { are_loaded: may_be_lazy && Self::PROGRAMS.into_iter().all(&mut loads), attached: Vec::new() }
    }

    /// Attaches them. What the kernel refuses now is as if it had not loaded it.
    pub(crate) fn attach(&mut self, kernel: &mut Ebpf) {
        for (name, _) in Self::PROGRAMS.into_iter().filter(|_| self.are_loaded) {
            if let Ok(link) = fexit(kernel, name)
                .map(FExit::attach)
                .and_then(|link| link.map_err(|error| refusal("attach its programs", &error)))
            {
                self.attached.push((name, link));
            }
        }
    }

    pub(crate) fn detach(&mut self, kernel: &mut Ebpf) {
        for (name, link) in self.attached.drain(..) {
            // A program that is already detached is no error.
            drop(fexit(kernel, name).map(|program| program.detach(link)));
        }
    }
}

/// A program at the end of a kernel function.
pub(crate) fn fexit<'a>(kernel: &'a mut Ebpf, name: &'static str) -> Result<&'a mut FExit, TracerRefusal> {
    let program = kernel.program_mut(name).ok_or_else(|| damaged(name))?;
    program.try_into().map_err(|_| damaged(name))
}

/// The last line of the verifier's log that is not one of its statistics.
fn verifier_reason(log: &str) -> Option<&str> {
    let statistics = ["processed ", "verification time ", "stack depth ", "peak_states "];
    let is_reason =
        |line: &&str| !line.is_empty() && !statistics.iter().any(|prefix| line.starts_with(prefix));
    log.lines().map(str::trim).rfind(is_reason)
}

/// The object is embedded in howlate: a missing part means that howlate's binary is damaged.
pub(crate) fn damaged(part: &str) -> TracerRefusal {
    TracerRefusal::Kernel {
        doing: "load its programs".to_owned(),
        reason: format!("{part} is missing in the object"),
    }
}

/// An error whose innermost source has the kernel's reason.
pub(crate) fn refusal(doing: &str, error: &(dyn std::error::Error + 'static)) -> TracerRefusal {
    let mut innermost = error;
    let mut permitted = true;
    loop {
        if let Some(reason) = innermost.downcast_ref::<io::Error>() {
            permitted &= reason.kind() != io::ErrorKind::PermissionDenied;
        }
        match innermost.source() {
            Some(source) => innermost = source,
            None => break,
        }
    }
    if permitted {
        TracerRefusal::Kernel { doing: doing.to_owned(), reason: innermost.to_string() }
    } else {
        TracerRefusal::NotPermitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_verifier_says_last_is_the_reason() {
        let log = "0: R1=ctx\nR3 unbounded memory access\nverification time 5930 usec\nstack depth 32+48\nprocessed 147 insns\n\n";
        assert_eq!(verifier_reason(log), Some("R3 unbounded memory access"));
        assert_eq!(verifier_reason("processed 0 insns\n"), None);
    }
}

//! Loads programs into the kernel, and tells why it would not have them.

use std::io;

use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, BtfError, Ebpf};
use howlate_model::TracerRefusal;

use crate::missing_events::Without;

/// A program, the event it belongs to, and what can be done without.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) event: &'static str,
    pub(crate) without: Without,
}

/// An event that there is no doing without.
pub(crate) const fn needed(name: &'static str, event: &'static str) -> Program {
    Program { name, event, without: Without::Nothing }
}

/// An event that there is a use for where it is.
pub(crate) const fn helpful(name: &'static str, event: &'static str, without: Without) -> Program {
    Program { name, event, without }
}

/// Loads one program; `false` where the kernel will not have it, such as for lack of its event, and it is not needed.
pub(crate) fn load(kernel: &mut Ebpf, one: &Program, types: &Btf) -> Result<bool, TracerRefusal> {
    let loaded = program(kernel, one.name)?.load(one.event, types);
    match &loaded {
        Ok(()) => log::debug!("program {}: loaded", one.name),
        Err(error) => log::debug!("program {} for {}: {error}", one.name, one.event),
    }
    match loaded {
        Ok(()) => Ok(true),
        Err(_) if one.without != Without::Nothing => Ok(false),
        Err(error) => Err(not_loaded(one.event, &error)),
    }
}

/// Why the kernel will not have a program for this event or function.
pub(crate) fn not_loaded(event: &str, error: &ProgramError) -> TracerRefusal {
    let doing = format!("load its program for {event}");
    match error {
        ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => {
            TracerRefusal::EventMissing { name: event.to_owned() }
        }
        ProgramError::LoadError { io_error, verifier_log }
            if let Some(word) = last_word(&verifier_log.to_string()) =>
        {
            TracerRefusal::Kernel { doing, reason: format!("{io_error}: {word}") }
        }
        error => refusal(&doing, error),
    }
}

/// A program of the object.
pub(crate) fn program<'a>(
    kernel: &'a mut Ebpf,
    name: &'static str,
) -> Result<&'a mut BtfTracePoint, TracerRefusal> {
    let program = kernel.program_mut(name).ok_or_else(|| damaged(name))?;
    program.try_into().map_err(|_| damaged(name))
}

/// Why the kernel's verifier refused: the last line of what it says, its own statistics left out.
fn last_word(log: &str) -> Option<&str> {
    let statistics = ["processed ", "verification time ", "stack depth ", "peak_states "];
    let is_reason = |line: &&str| !line.is_empty() && !statistics.iter().any(|words| line.starts_with(words));
    log.lines().map(str::trim).rfind(is_reason)
}

/// The object is part of this program, so that this says that the program is damaged.
pub(crate) fn damaged(part: &str) -> TracerRefusal {
    TracerRefusal::Kernel {
        doing: "load its programs".to_owned(),
        reason: format!("{part} is missing in the object"),
    }
}

/// The kernel's own reason is at the end of the chain of errors.
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
        assert_eq!(last_word(log), Some("R3 unbounded memory access"));
        assert_eq!(last_word("processed 0 insns\n"), None);
    }
}

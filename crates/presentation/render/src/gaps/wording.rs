//! Names of what had a CPU.

use howlate_model::{CpuSet, GapCause, GapKind, Span};

use crate::numbers::micros;
use crate::untrusted_text::legible;

/// A length in µs.
pub(super) fn micros_of(span: Span) -> String {
    micros(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
}

/// Name of a cause: `timer interrupt`, `softirq NET_RX`, `thread kworker/1:2`.
pub(super) fn cause(cause: &GapCause, is_guest: bool) -> String {
    let name = legible(&cause.name);
    match cause.kind {
        GapKind::Thread => format!("thread {name}"),
        GapKind::Interrupt => interrupt(&name),
        GapKind::Softirq => format!("softirq {name}"),
        GapKind::Nmi => "non-maskable interrupt (NMI)".to_owned(),
        GapKind::PageFault => "page fault of the spinning thread".to_owned(),
        GapKind::Idle => "nobody: the thread was throttled".to_owned(),
        GapKind::Smi => "firmware (SMI)".to_owned(),
        GapKind::NoEvent if is_guest => "no kernel event: probably the hypervisor".to_owned(),
        GapKind::NoEvent => "no kernel event: firmware or hardware".to_owned(),
        GapKind::NotTraced => "not traced".to_owned(),
    }
}

fn interrupt(name: &str) -> String {
    match name {
        "local_timer" => "timer interrupt".to_owned(),
        "reschedule" => "interrupt: reschedule, from another CPU".to_owned(),
        "call_function" | "call_function_single" => "interrupt: function call, from another CPU".to_owned(),
        "irq_work" => "interrupt: IRQ work".to_owned(),
        "ipi" => "interrupt from another CPU".to_owned(),
        other => format!("interrupt {other}"),
    }
}

/// A caveat on threads that left their CPU.
pub(super) fn moved(cpus: &CpuSet) -> Option<String> {
    (!cpus.is_empty()).then(|| {
        format!(
            "The thread of CPU {cpus} did not stay there: the CPU went offline, or the thread's affinity was changed. Some of its time is that of other CPUs, and what had the CPU is not known."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_names_become_words() {
        let name_of = |kind, name: &str, is_guest| cause(&GapCause { kind, name: name.into() }, is_guest);
        assert_eq!(name_of(GapKind::Interrupt, "local_timer", false), "timer interrupt");
        assert_eq!(name_of(GapKind::Interrupt, "virtio0", false), "interrupt virtio0");
        assert_eq!(name_of(GapKind::Thread, "a\u{1b}[2J", false), "thread a\\u{1b}[2J");
        assert!(name_of(GapKind::NoEvent, "", true).ends_with("hypervisor"));
        assert!(name_of(GapKind::NoEvent, "", false).ends_with("hardware"));
    }
}

//! Debug kernels, tracers and lockup watchdogs.

use crate::settings::WATCHDOGS_FILE;
use howlate_model::{CpuSet, Finding, FindingId, Verdict};
use howlate_procfs::{Reading, Root, read_cpu_list};

use super::boot_parameters::kernel_without;
use super::draft::finding;
use crate::kernel_config::KernelConfig;

/// Options that make most of the kernel several times slower, and their usual names.
///
/// Source: Documentation/dev-tools/{kasan,kcsan,kmemleak}.rst; Documentation/locking/lockdep-design.rst; lib/Kconfig.debug.
const CHECKS: [(&str, &str); 9] = [
    ("CONFIG_KASAN", "KASAN"),
    ("CONFIG_KMSAN", "KMSAN"),
    ("CONFIG_KCSAN", "KCSAN"),
    ("CONFIG_PROVE_LOCKING", "lockdep"),
    ("CONFIG_DEBUG_OBJECTS", "DEBUG_OBJECTS"),
    ("CONFIG_DEBUG_KMEMLEAK", "kmemleak"),
    ("CONFIG_DEBUG_LOCK_ALLOC", "checks of freed locks"),
    ("CONFIG_SLUB_DEBUG_ON", "checks of all allocations"),
    ("CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT", "checks of all pages"),
];

/// Whether the kernel was built with expensive checks of itself.
pub(super) fn debug_kernel(root: &Root) -> Option<Finding> {
    let config = KernelConfig::read(root);
    let is_on = |(option, _): &(&str, &str)| config.value(option) == Some("y");
    let (options, names): (Vec<&str>, Vec<&str>) = CHECKS.into_iter().filter(is_on).unzip();
    if options.is_empty() {
        return None;
    }
    let found = format!("this is a debug kernel ({})", names.join(", "));
    let draft = finding(FindingId::DebugKernel, Verdict::Costs, found).evidence(&config.only(&options)).why(
        "Such a kernel checks each access to memory or each lock. It is several times slower and is late by milliseconds, whatever else \
         is set up.",
    );
    Some(kernel_without(draft, &options).finish())
}

/// Whether ftrace is active.
///
/// Source: Documentation/trace/ftrace.rst.
pub(super) fn tracer(root: &Root) -> Option<Finding> {
    let folder = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .into_iter()
        .find(|folder| root.has(&format!("{folder}/current_tracer")))?;
    let tracer = root.reading(format!("{folder}/current_tracer"));
    let on = root.reading(format!("{folder}/tracing_on"));
    let Some(name) = tracer.text().filter(|name| *name != "nop").map(str::to_owned) else {
        return all_events(root, folder, &on);
    };
    // `tracing_on` only stops the writing: the cost of tracing remains.
    let state = if on.text() == Some("0") { "is on, though it records nothing now" } else { "is on" };
    let draft = finding(FindingId::Tracer, Verdict::Costs, format!("the kernel's tracer {name} {state}"))
        .evidence(&tracer)
        .evidence(&on);
    let draft = draft.why(
        "A tracer of functions writes down each function that the kernel calls, and those of latencies each stretch without interrupts or \
         preemption: every wake-up waits for that.",
    );
    let path = &tracer.path;
    Some(
        draft
            .apply(format!("echo nop | sudo tee {path}"))
            .undo(format!("echo {name} | sudo tee {path}"))
            .finish(),
    )
}

/// Whether all trace events are enabled; `None` if not.
fn all_events(root: &Root, folder: &str, on: &Reading) -> Option<Finding> {
    let enabled = root.reading(format!("{folder}/events/enable"));
    if enabled.text() != Some("1") || on.text() == Some("0") {
        return None;
    }
    let draft = finding(FindingId::Tracer, Verdict::Costs, "all events of the kernel are traced");
    let draft = draft.evidence(&enabled).evidence(on).why(
        "Each switch, interrupt and system call writes an event before it goes on: each takes a good part of a microsecond longer, and there \
         are many on the way of a wake-up.",
    );
    let path = &enabled.path;
    Some(draft.apply(format!("echo 0 | sudo tee {path}")).undo(format!("echo 1 | sudo tee {path}")).finish())
}

/// Lockup watchdogs: a timer on every watched CPU, five times in two thresholds.
///
/// Source: `Documentation/admin-guide/lockup-watchdogs.rst`.
pub(super) fn watchdogs(root: &Root) -> Option<Finding> {
    let (switch, hard) = (root.reading(WATCHDOGS_FILE), root.reading("/proc/sys/kernel/nmi_watchdog"));
    let threshold = root.reading("/proc/sys/kernel/watchdog_thresh");
    let seconds = threshold.number::<u32>().unwrap_or(10);
    let on = switch.text()? != "0" && seconds > 0;
    let every = f64::from(seconds) * 2.0 / 5.0;
    let by_nmi = if hard.text() == Some("1") { ", and a counter raises NMIs" } else { "" };
    let online = read_cpu_list(root, "/sys/devices/system/cpu/online");
    let mask = root.reading("/proc/sys/kernel/watchdog_cpumask");
    let watched: Option<CpuSet> = mask.text().and_then(|list| list.parse().ok());
    let watched = watched.filter(|watched| !online.without(watched).is_empty());
    let place = watched.map_or_else(|| "each CPU".to_owned(), |watched| format!("CPUs {watched}"));
    let found = if on {
        format!("the lockup watchdogs run a timer every {every} s on {place}{by_nmi}")
    } else {
        "the lockup watchdogs are off".to_owned()
    };
    let verdict = if on { Verdict::Note } else { Verdict::Good };
    let draft = finding(FindingId::Watchdogs, verdict, found)
        .evidence(&switch)
        .evidence(&hard)
        .evidence(&threshold)
        .evidence(&mask)
        .why(
            "They interrupt each CPU they watch for a short time, and report a kernel that hangs. \
            Switch them off only for the length of a measurement.",
        );
    Some(draft.when(on, |draft| draft.temporary_setting(root, "watchdogs")).finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracer_counts_while_it_is_on() {
        let tracer_finding = |name: &str, on: &str| {
            let files = [("sys/kernel/tracing/current_tracer", name), ("sys/kernel/tracing/tracing_on", on)];
            tracer(&Root::at(howlate_testing::tree(&files).path()))
        };
        let found = tracer_finding("function_graph\n", "1\n").unwrap();
        assert!(
            found.found.contains("function_graph")
                && found.remedy.unwrap().undo[0].starts_with("echo function_graph |")
        );
        // Documentation/trace/ftrace.rst, `tracing_on`: only writing to the ring buffer stops.
        assert!(tracer_finding("irqsoff", "0").unwrap().found.contains("records nothing now"));
        assert_eq!(tracer_finding("nop", "1"), None);
        let files = [
            ("sys/kernel/tracing/current_tracer", "nop"),
            ("sys/kernel/tracing/tracing_on", "1"),
            ("sys/kernel/tracing/events/enable", "1"),
        ];
        let found = tracer(&Root::at(howlate_testing::tree(&files).path())).unwrap();
        assert_eq!(found.found, "all events of the kernel are traced");
    }

    #[test]
    fn only_checks_of_everything_make_a_kernel_one_for_tests() {
        let debug_finding = |config: &str| {
            let files = [("proc/sys/kernel/osrelease", "6.1"), ("boot/config-6.1", config)];
            debug_kernel(&Root::at(howlate_testing::tree(&files).path()))
        };
        let found = debug_finding("CONFIG_KASAN=y\nCONFIG_PROVE_LOCKING=y\n").unwrap();
        assert!(found.found.contains("KASAN, lockdep"), "{}", found.found);
        assert_eq!(
            debug_finding("CONFIG_DEBUG_KERNEL=y\nCONFIG_DEBUG_INFO=y\n# CONFIG_KASAN is not set\n"),
            None
        );
    }
}

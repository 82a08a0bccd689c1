//! How deeply idle CPUs sleep, and how long they take to come back.

use howlate_knobs::idle_states::NOTICEABLE_US;
use howlate_model::{Finding, FindingId, IdleState, Verdict};
use howlate_procfs::{CommandLine, Reading, Root, hypervisor, list_of_cpus};

use super::draft::{Draft, finding};
use crate::describe::cpus::idle_states;

const CPUS: &str = "/sys/devices/system/cpu";
const REQUEST: &str = "/dev/cpu_dma_latency";

const WHY: &str = "An idle CPU must leave its idle state before it can handle the timer's interrupt. The \
    longer a sleep, the deeper the state the kernel chooses for it.";

/// The deepest state that idle CPUs may enter.
pub(super) fn states(root: &Root) -> Option<Finding> {
    let first = list_of_cpus(root, &format!("{CPUS}/online")).iter().next()?;
    let states = idle_states(root, first);
    let enabled = states.iter().filter(|state| !state.disabled);
    match enabled.max_by_key(|state| state.exit_latency_us) {
        None => Some(unmanaged(root)),
        Some(deepest) if deepest.exit_latency_us <= NOTICEABLE_US => Some(shallow(root, first, deepest)),
        Some(deepest) => Some(deep(root, first, deepest)),
    }
}

fn unmanaged(root: &Root) -> Finding {
    let line = CommandLine::read(root);
    let driver = root.reading(format!("{CPUS}/cpuidle/current_driver"));
    let polling = line.value("idle") == Some("poll");
    let (verdict, found) = match (polling, hypervisor(root).is_some()) {
        (true, _) => (Verdict::Good, "idle CPUs do not sleep (idle=poll)"),
        (false, true) => (
            Verdict::Note,
            "this kernel manages no idle states; the host decides how deeply an idle CPU sleeps",
        ),
        (false, false) => (Verdict::Note, "this kernel manages no idle states"),
    };
    finding(FindingId::IdleStates, verdict, found).seen(&driver).seen(&line.only(&["idle"])).why(WHY).end()
}

/// The states of one CPU as evidence, each in one line.
fn show(root: &Root, draft: Draft, cpu: u32) -> Draft {
    let directory = format!("{CPUS}/cpu{cpu}/cpuidle");
    let states = root.list(&directory).into_iter().filter(|name| name.starts_with("state"));
    let names = ["name", "latency", "residency", "disable"];
    let line = |state: String| {
        let read = |name: &str| root.read(&format!("{directory}/{state}/{name}")).unwrap_or_default();
        let content = Ok(names.map(read).join(", "));
        Reading { path: format!("{directory}/{state}/{{{}}}", names.join(",")), content }
    };
    states.map(line).fold(draft, |draft, reading| draft.seen(&reading))
}

/// A guest's idle states end where the host's begin.
fn shallow(root: &Root, cpu: u32, deepest: &IdleState) -> Finding {
    let (name, exit) = (&deepest.name, deepest.exit_latency_us);
    let (verdict, found) = if hypervisor(root).is_some() {
        let found = format!(
            "the guest's deepest idle state ({name}) takes {exit} µs to leave; the host adds its own"
        );
        (Verdict::Note, found)
    } else {
        (Verdict::Good, format!("idle CPUs sleep no deeper than {name}, which takes {exit} µs to leave"))
    };
    show(root, finding(FindingId::IdleStates, verdict, found), cpu).why(WHY).end()
}

fn deep(root: &Root, cpu: u32, deepest: &IdleState) -> Finding {
    let IdleState { name, exit_latency_us: exit, residency_us: residency, .. } = deepest;
    let found = format!("idle CPUs may enter states as deep as {name}, which takes up to {exit} µs to leave");
    let draft = show(root, finding(FindingId::IdleStates, Verdict::Costs, found), cpu).why(WHY).typically(
        format!(
            "up to {exit} µs when a CPU is idle for {residency} µs or more; exits of 150 to 230 \
                µs have been seen on recent Xeons"
        ),
        "this machine's cpuidle/state*/latency and residency; google/gvisor issue 14526",
    );
    draft.turn(root, "idle_states").end()
}

/// Whether a program may ask for shallow idle states while it runs.
///
/// Opening the file asks for nothing yet: a request takes effect when it is written, and
/// ends when the file is closed (`Documentation/power/pm_qos_interface.rst`).
pub(super) fn latency_request(root: &Root) -> Option<Finding> {
    let first = list_of_cpus(root, &format!("{CPUS}/online")).iter().next()?;
    if idle_states(root, first).is_empty() {
        return None;
    }
    let outcome = root.writable(REQUEST);
    let content = outcome.map(|()| "may be opened for writing".to_owned());
    let allowed = content.is_ok();
    let seen = Reading { path: REQUEST.into(), content };
    let (verdict, found) = match allowed {
        true => (Verdict::Good, "this process may keep CPUs out of deep idle states while it runs"),
        false => (Verdict::Note, "this process may not keep CPUs out of deep idle states"),
    };
    let draft = finding(FindingId::CpuDmaLatency, verdict, found).seen(&seen).why(
        "A program that holds this file open with 0 written to it keeps every CPU awake, and closing it \
            lets them idle again. Real-time programs, cyclictest among them, do this.",
    );
    let draft = draft.when(!allowed, |draft| grant(root, draft));
    Some(draft.when(allowed, |draft| draft.apply(HOLD)).end())
}

/// What one does who may.
const HOLD: &str = "exec 9>/dev/cpu_dma_latency; printf '\\0\\0\\0\\0' >&9";

fn grant(root: &Root, draft: Draft) -> Draft {
    match super::container::Advice::detect(root) {
        Some(advice) => advice.option(draft, &format!("--device={REQUEST}")),
        None => draft
            .apply(format!("sudo setfacl -m u:$USER:rw {REQUEST}"))
            .undo(format!("sudo setfacl -b {REQUEST}")),
    }
}

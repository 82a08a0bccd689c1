//! The idle states that CPUs may enter, and their exit latencies.

use crate::settings::NOTICEABLE_US;
use howlate_model::{CpuSet, Finding, FindingId, IdleState, Verdict};
use howlate_procfs::{CommandLine, Isolation, Reading, Root, hypervisor};

use super::draft::{FindingDraft, finding};
use crate::describe::cpus::idle_states;

const CPUS: &str = "/sys/devices/system/cpu";
const REQUEST: &str = "/dev/cpu_dma_latency";
/// Where programs ask for the same, for idle states and for those of a suspended machine, since Linux 6.19: commit c19dfb267c28.
const WAKEUP_REQUEST: &str = "/dev/cpu_wakeup_latency";

const WHY: &str = "An idle CPU must leave its idle state before it can handle the timer's interrupt. The \
    longer a sleep, the deeper the state the kernel chooses for it.";

/// The exit latency limit without a request, in microseconds: above that of every real state.
const LONGEST_EXIT_US: u64 = 10_000_000;

/// The deepest idle state that a CPU may enter now.
struct DeepestState {
    cpu: u32,
    state: IdleState,
}

impl DeepestState {
    /// The deepest enabled state within `limit_us`, the exit latency that programs request for all CPUs, and within the limit of this CPU.
    ///
    /// Source: Documentation/admin-guide/pm/cpuidle.rst, "Power Management Quality of Service for CPUs".
    fn read(root: &Root, cpu: u32, limit_us: Option<u64>) -> Option<Self> {
        let limit_us = [limit_us, cpu_limit(&resume_latency(root, cpu))]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(LONGEST_EXIT_US);
        let states = idle_states(root, cpu).into_iter();
        let may_enter = |state: &IdleState| !state.disabled && state.exit_latency_us <= limit_us;
        let state = states.filter(may_enter).max_by_key(|state| state.exit_latency_us)?;
        Some(Self { cpu, state })
    }

    const fn takes_long(&self) -> bool {
        self.state.exit_latency_us > NOTICEABLE_US
    }
}

fn resume_latency(root: &Root, cpu: u32) -> Reading {
    root.reading(format!("{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us"))
}

/// The limit in microseconds. The file has `n/a` for no latency at all, and 0 for no limit (`None`).
fn cpu_limit(latency: &Reading) -> Option<u64> {
    match latency.text()? {
        "n/a" => Some(0),
        number => number.parse().ok().filter(|micros| *micros > 0),
    }
}

/// The exit latency limit that programs request at present, in microseconds, and the file by which they do; `None` without a request.
///
/// Source: Documentation/power/pm_qos_interface.rst: reading gives the value in force, a 32-bit number; 2000 s is "no request".
fn requested_limit(root: &Root) -> Option<(u64, &'static str)> {
    // 2000 s in the one file, and a limit that no state reaches in the other.
    const NO_REQUEST: [i32; 2] = [2_000_000_000, i32::MAX];
    let limit = |file: &'static str| {
        let bytes = root.read_prefix(file, 4).ok()?;
        let micros = i32::from_ne_bytes(<[u8; 4]>::try_from(bytes.as_slice()).ok()?);
        let micros = Some(micros).filter(|micros| !NO_REQUEST.contains(micros))?;
        Some((u64::try_from(micros).ok()?, file))
    };
    [REQUEST, WAKEUP_REQUEST].into_iter().filter_map(limit).min()
}

/// An exit latency above what an ordinary kernel's preemption usually adds, in microseconds.
const VERY_LONG: u64 = 500;

/// The finding about idle states if an exit takes at least [`VERY_LONG`]; it is shown before those about the kernel.
pub(super) fn very_deep_states(root: &Root) -> Option<Finding> {
    idle_states_finding(root).filter(|(_, exit_us)| *exit_us >= VERY_LONG).map(|(finding, _)| finding)
}

/// The finding about idle states with shorter exits.
pub(super) fn states(root: &Root) -> Option<Finding> {
    idle_states_finding(root).filter(|(_, exit_us)| *exit_us < VERY_LONG).map(|(finding, _)| finding)
}

/// The finding, and the longest exit latency in microseconds; 0 where that is no cost.
fn idle_states_finding(root: &Root) -> Option<(Finding, u64)> {
    let isolation = Isolation::read(root);
    let cpus = isolation.relevant_cpus();
    let first = cpus.iter().next()?;
    let limit = requested_limit(root);
    let limit_us = limit.map(|(micros, _)| micros);
    if cpus.iter().all(|cpu| idle_states(root, cpu).is_empty()) {
        return Some((unmanaged_states(root), 0));
    }
    let deepest: Vec<DeepestState> =
        cpus.iter().filter_map(|cpu| DeepestState::read(root, cpu, limit_us)).collect();
    // `max_by_key` takes the last of equal CPUs; the first is wanted.
    let worst = deepest.iter().rev().max_by_key(|deepest| deepest.state.exit_latency_us);
    let slow_cpus: CpuSet =
        deepest.iter().filter(|deepest| deepest.takes_long()).map(|deepest| deepest.cpu).collect();
    let which = match slow_cpus.len() {
        all if all == isolation.online.len() => "idle CPUs".to_owned(),
        1 => format!("idle CPU {slow_cpus}"),
        _ => format!("idle CPUs {}", abbreviate(&slow_cpus)),
    };
    let unreadable = cpus.iter().find(|cpu| is_unreadable(root, *cpu));
    if let Some(cpu) = unreadable.filter(|_| slow_cpus.is_empty()) {
        let found = format!("how deeply CPU {cpu} may sleep could not be read");
        let draft = add_states(root, finding(FindingId::IdleStates, Verdict::Unknown, found), cpu);
        return Some((draft.why(WHY).finish(), 0));
    }
    Some(match worst {
        None => (all_states_off(root, first), 0),
        Some(worst) if worst.takes_long() => (deep_states(root, worst, &which), worst.state.exit_latency_us),
        Some(worst) => (shallow_states(root, worst, limit), 0),
    })
}

/// Whether an enabled state of this CPU cannot be read, or none can.
fn is_unreadable(root: &Root, cpu: u32) -> bool {
    let directory = format!("{CPUS}/cpu{cpu}/cpuidle");
    let states: Vec<String> =
        root.list(&directory).into_iter().filter(|name| name.starts_with("state")).collect();
    let number =
        |state: &str, name: &str| root.read(&format!("{directory}/{state}/{name}")).ok()?.parse::<u64>().ok();
    let is_off = |state: &str| number(state, "disable").is_some_and(|value| value != 0);
    states.is_empty() || states.iter().any(|state| !is_off(state) && number(state, "latency").is_none())
}

/// Longer CPU lists, in columns, are abbreviated.
const LONGEST_LIST: usize = 40;

fn abbreviate(cpus: &CpuSet) -> String {
    let list = cpus.to_string();
    match (list.len() > LONGEST_LIST, cpus.iter().next(), cpus.iter().last()) {
        (true, Some(first), Some(last)) => format!("({} of {first}-{last})", cpus.len()),
        _ => list,
    }
}

fn unmanaged_states(root: &Root) -> Finding {
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
    finding(FindingId::IdleStates, verdict, found)
        .evidence(&driver)
        .evidence(&line.only(&["idle"]))
        .why(WHY)
        .finish()
}

fn all_states_off(root: &Root, cpu: u32) -> Finding {
    add_states(root, finding(FindingId::IdleStates, Verdict::Good, "all idle states are switched off"), cpu)
        .why(WHY)
        .finish()
}

/// Adds the states of one CPU as evidence, each in one line.
fn add_states(root: &Root, draft: FindingDraft, cpu: u32) -> FindingDraft {
    let directory = format!("{CPUS}/cpu{cpu}/cpuidle");
    let states = root.list(&directory).into_iter().filter(|name| name.starts_with("state"));
    let names = ["name", "latency", "residency", "disable"];
    let line = |state: String| {
        let read = |name: &str| root.read(&format!("{directory}/{state}/{name}")).unwrap_or_default();
        let content = Ok(names.map(read).join(", "));
        Reading { path: format!("{directory}/{state}/{{{}}}", names.join(",")), content }
    };
    let draft = states.map(line).fold(draft, |draft, reading| draft.evidence(&reading));
    let latency = resume_latency(root, cpu);
    draft.when(cpu_limit(&latency).is_some(), |draft| draft.evidence(&latency))
}

/// No exit takes long. A guest's states are only `Note`: the host's come on top.
fn shallow_states(root: &Root, deepest: &DeepestState, limit: Option<(u64, &str)>) -> Finding {
    let IdleState { name, exit_latency_us: exit, .. } = &deepest.state;
    let (verdict, found) = if hypervisor(root).is_some() {
        let found = format!(
            "the guest's deepest idle state ({name}) takes {exit} µs to leave; the host adds its own"
        );
        (Verdict::Note, found)
    } else {
        (Verdict::Good, format!("idle CPUs sleep no deeper than {name}, which takes {exit} µs to leave"))
    };
    let is_limited = limit.is_some_and(|(limit_us, _)| {
        idle_states(root, deepest.cpu).iter().any(|state| !state.disabled && state.exit_latency_us > limit_us)
    });
    let found = match limit.filter(|_| is_limited) {
        Some((limit_us, file)) => {
            format!("{found}, for as long as a program asks for {limit_us} µs ({file})")
        }
        None => found,
    };
    add_states(root, finding(FindingId::IdleStates, verdict, found), deepest.cpu).why(WHY).finish()
}

fn deep_states(root: &Root, deepest: &DeepestState, which: &str) -> Finding {
    let IdleState { name, exit_latency_us: exit, residency_us: residency, .. } = &deepest.state;
    let found = format!("{which} may enter states as deep as {name}, which takes up to {exit} µs to leave");
    let draft = finding(FindingId::IdleStates, Verdict::Costs, found);
    let draft = add_states(root, draft, deepest.cpu).why(WHY).cost(
        format!(
            "up to {exit} µs when a CPU is idle for {residency} µs or more; exits of 150 to 230 \
                µs have been seen on recent Xeons"
        ),
        "this machine's cpuidle/state*/latency and residency; google/gvisor issue 14526",
    );
    draft.setting(root, "idle_states").finish()
}

/// Whether this process may request an exit latency limit for all CPUs, and the present limit.
///
/// Opening the file asks for nothing yet: a request takes effect when it is written, and
/// ends when the file is closed (`Documentation/power/pm_qos_interface.rst`).
pub(super) fn latency_request(root: &Root) -> Option<Finding> {
    let first = Isolation::read(root).online.iter().next()?;
    if idle_states(root, first).is_empty() {
        return None;
    }
    let allowed = root.writable(REQUEST).map(|()| "may be opened for writing".to_owned());
    let may_request = allowed.is_ok();
    let now = requested_limit(root);
    let content = match now {
        Some((micros, _)) => Ok(format!("{micros} µs")),
        None => allowed,
    };
    let reading = Reading { path: now.map_or(REQUEST, |(_, file)| file).into(), content };
    let (verdict, found) = match (now, may_request) {
        (Some((micros, _)), _) => (
            Verdict::Good,
            format!("a program asks for idle states that take no longer than {micros} µs to leave"),
        ),
        (None, true) => {
            (Verdict::Good, "this process may keep CPUs out of deep idle states while it runs".to_owned())
        }
        (None, false) => (Verdict::Note, "this process may not keep CPUs out of deep idle states".to_owned()),
    };
    let draft = finding(FindingId::CpuDmaLatency, verdict, found).evidence(&reading).why(
        "A program that holds this file open with 0 written to it keeps every CPU awake, and closing it \
            lets them idle again. Real-time programs, cyclictest among them, do this.",
    );
    let draft = draft.when(!may_request && now.is_none(), |draft| grant(root, draft));
    Some(draft.when(may_request && now.is_none(), |draft| draft.apply(HOLD)).finish())
}

/// Holds the request open in the present shell.
pub(super) const HOLD: &str = "exec 9>/dev/cpu_dma_latency; printf '\\0\\0\\0\\0' >&9";
/// Holds the request open in a separate process, for shells that cannot.
pub(super) const HOLD_IN_BACKGROUND: &str =
    "sh -c 'exec 9>/dev/cpu_dma_latency; printf \"\\0\\0\\0\\0\" >&9; exec sleep infinity' &";

fn grant(root: &Root, draft: FindingDraft) -> FindingDraft {
    match super::container::ContainerAdvice::detect(root) {
        Some(advice) => advice.option(draft, &format!("--device={REQUEST}")),
        None => draft
            .apply(format!("sudo setfacl -m u:$(id -un):rw {REQUEST}   # of the package acl"))
            .undo(format!("sudo setfacl -b {REQUEST}")),
    }
}

//! How deeply idle CPUs sleep, and how long they take to come back.

use crate::settings::NOTICEABLE_US;
use howlate_model::{CpuSet, Finding, FindingId, IdleState, Verdict};
use howlate_procfs::{CommandLine, Isolation, Reading, Root, Unreadable, hypervisor};

use super::draft::{Draft, finding};
use crate::describe::cpus::idle_states;

const CPUS: &str = "/sys/devices/system/cpu";
const REQUEST: &str = "/dev/cpu_dma_latency";

const WHY: &str = "An idle CPU must leave its idle state before it can handle the timer's interrupt. The \
    longer a sleep, the deeper the state the kernel chooses for it.";

/// No state takes longer to leave than this, in microseconds: a larger number is none.
const LONGEST_EXIT_US: u64 = 10_000_000;

/// The deepest state that a CPU may enter now.
struct Deepest {
    cpu: u32,
    state: IdleState,
}

impl Deepest {
    /// Of the states that are on, those whose exit takes no longer than what is asked for, of all CPUs or of this one.
    ///
    /// Source: Documentation/admin-guide/pm/cpuidle.rst, "Power Management Quality of Service for CPUs".
    fn of(root: &Root, cpu: u32, asked: Option<u64>) -> Option<Self> {
        let most = [asked, of_cpu(&resume_latency(root, cpu))]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(LONGEST_EXIT_US);
        let states = idle_states(root, cpu).into_iter();
        let may_enter = |state: &IdleState| !state.disabled && state.exit_latency_us <= most;
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

/// `n/a` is "none at all", and 0 is "as long as it likes".
fn of_cpu(latency: &Reading) -> Option<u64> {
    match latency.text()? {
        "n/a" => Some(0),
        number => number.parse().ok().filter(|micros| *micros > 0),
    }
}

/// What all programs together ask for now, in microseconds; `None` where nobody asks, or it may not be read.
///
/// Source: Documentation/power/pm_qos_interface.rst: reading gives the value in force, a 32-bit number; 2000 s is "no request".
fn request(root: &Root) -> Result<Option<u64>, Unreadable> {
    const NO_REQUEST: i32 = 2_000_000_000;
    let bytes = root.read_prefix(REQUEST, 4)?;
    let micros = <[u8; 4]>::try_from(bytes.as_slice()).ok().map(i32::from_ne_bytes);
    Ok(micros.filter(|micros| *micros != NO_REQUEST).and_then(|micros| u64::try_from(micros).ok()))
}

/// Leaving such a state takes longer than the kernel usually keeps a thread waiting, µs.
const VERY_LONG: u64 = 500;

/// The deepest states that the CPUs may enter on which it matters, where they are worse than what the kernel does.
pub(super) fn very_deep_states(root: &Root) -> Option<Finding> {
    examined(root).filter(|(_, exit)| *exit >= VERY_LONG).map(|(found, _)| found)
}

/// The same where they are not.
pub(super) fn states(root: &Root) -> Option<Finding> {
    examined(root).filter(|(_, exit)| *exit < VERY_LONG).map(|(found, _)| found)
}

/// And how long it takes to leave the deepest of them, where that is a cost.
fn examined(root: &Root) -> Option<(Finding, u64)> {
    let isolation = Isolation::read(root);
    let cpus = isolation.relevant_cpus();
    let first = cpus.iter().next()?;
    let asked = request(root).ok().flatten();
    if cpus.iter().all(|cpu| idle_states(root, cpu).is_empty()) {
        return Some((unmanaged(root), 0));
    }
    let each: Vec<Deepest> = cpus.iter().filter_map(|cpu| Deepest::of(root, cpu, asked)).collect();
    // Of CPUs that are alike, the first.
    let worst = each.iter().rev().max_by_key(|one| one.state.exit_latency_us);
    let slow: CpuSet = each.iter().filter(|one| one.takes_long()).map(|one| one.cpu).collect();
    let which = match slow.len() {
        all if all == isolation.online.len() => "idle CPUs".to_owned(),
        1 => format!("idle CPU {slow}"),
        _ => format!("idle CPUs {}", briefly(&slow)),
    };
    let unread = cpus.iter().find(|cpu| is_unread(root, *cpu));
    if let Some(cpu) = unread.filter(|_| slow.is_empty()) {
        let found = format!("how deeply CPU {cpu} may sleep could not be read");
        let draft = show(root, finding(FindingId::IdleStates, Verdict::Unknown, found), cpu);
        return Some((draft.why(WHY).end(), 0));
    }
    Some(match worst {
        None => (none_on(root, first), 0),
        Some(worst) if worst.takes_long() => (deep(root, worst, &which), worst.state.exit_latency_us),
        Some(worst) => (shallow(root, worst, asked), 0),
    })
}

/// Whether a state of this CPU cannot be read, or none can though others have some.
fn is_unread(root: &Root, cpu: u32) -> bool {
    let directory = format!("{CPUS}/cpu{cpu}/cpuidle");
    let states: Vec<String> =
        root.list(&directory).into_iter().filter(|name| name.starts_with("state")).collect();
    let number =
        |state: &str, name: &str| root.read(&format!("{directory}/{state}/{name}")).ok()?.parse::<u64>().ok();
    let is_off = |state: &str| number(state, "disable").is_some_and(|off| off != 0);
    states.is_empty() || states.iter().any(|state| !is_off(state) && number(state, "latency").is_none())
}

/// More columns are no list that anybody reads.
const LONGEST_LIST: usize = 40;

fn briefly(cpus: &CpuSet) -> String {
    let list = cpus.to_string();
    match (list.len() > LONGEST_LIST, cpus.iter().next(), cpus.iter().last()) {
        (true, Some(first), Some(last)) => format!("({} of {first}-{last})", cpus.len()),
        _ => list,
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

fn none_on(root: &Root, cpu: u32) -> Finding {
    show(root, finding(FindingId::IdleStates, Verdict::Good, "all idle states are switched off"), cpu)
        .why(WHY)
        .end()
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
    let draft = states.map(line).fold(draft, |draft, reading| draft.seen(&reading));
    let latency = resume_latency(root, cpu);
    draft.when(of_cpu(&latency).is_some(), |draft| draft.seen(&latency))
}

/// A guest's idle states end where the host's begin.
fn shallow(root: &Root, deepest: &Deepest, asked: Option<u64>) -> Finding {
    let IdleState { name, exit_latency_us: exit, .. } = &deepest.state;
    let (verdict, found) = if hypervisor(root).is_some() {
        let found = format!(
            "the guest's deepest idle state ({name}) takes {exit} µs to leave; the host adds its own"
        );
        (Verdict::Note, found)
    } else {
        (Verdict::Good, format!("idle CPUs sleep no deeper than {name}, which takes {exit} µs to leave"))
    };
    let is_asked = asked.is_some_and(|most| {
        idle_states(root, deepest.cpu).iter().any(|one| !one.disabled && one.exit_latency_us > most)
    });
    let found = match asked.filter(|_| is_asked) {
        Some(most) => format!("{found}, for as long as a program asks for {most} µs ({REQUEST})"),
        None => found,
    };
    show(root, finding(FindingId::IdleStates, verdict, found), deepest.cpu).why(WHY).end()
}

fn deep(root: &Root, deepest: &Deepest, which: &str) -> Finding {
    let IdleState { name, exit_latency_us: exit, residency_us: residency, .. } = &deepest.state;
    let found = format!("{which} may enter states as deep as {name}, which takes up to {exit} µs to leave");
    let draft = finding(FindingId::IdleStates, Verdict::Costs, found);
    let draft = show(root, draft, deepest.cpu).why(WHY).typically(
        format!(
            "up to {exit} µs when a CPU is idle for {residency} µs or more; exits of 150 to 230 \
                µs have been seen on recent Xeons"
        ),
        "this machine's cpuidle/state*/latency and residency; google/gvisor issue 14526",
    );
    draft.turn(root, "idle_states").end()
}

/// Whether this process may ask every CPU to stay out of deep idle states, and what is asked for now.
///
/// Opening the file asks for nothing yet: a request takes effect when it is written, and
/// ends when the file is closed (`Documentation/power/pm_qos_interface.rst`).
pub(super) fn latency_request(root: &Root) -> Option<Finding> {
    let first = Isolation::read(root).online.iter().next()?;
    if idle_states(root, first).is_empty() {
        return None;
    }
    let allowed = root.writable(REQUEST).map(|()| "may be opened for writing".to_owned());
    let may = allowed.is_ok();
    let now = request(root).ok().flatten();
    let content = match now {
        Some(micros) => Ok(format!("{micros} µs")),
        None => allowed,
    };
    let seen = Reading { path: REQUEST.into(), content };
    let (verdict, found) = match (now, may) {
        (Some(micros), _) => (
            Verdict::Good,
            format!("a program asks for idle states that take no longer than {micros} µs to leave"),
        ),
        (None, true) => {
            (Verdict::Good, "this process may keep CPUs out of deep idle states while it runs".to_owned())
        }
        (None, false) => (Verdict::Note, "this process may not keep CPUs out of deep idle states".to_owned()),
    };
    let draft = finding(FindingId::CpuDmaLatency, verdict, found).seen(&seen).why(
        "A program that holds this file open with 0 written to it keeps every CPU awake, and closing it \
            lets them idle again. Real-time programs, cyclictest among them, do this.",
    );
    let draft = draft.when(!may && now.is_none(), |draft| grant(root, draft));
    Some(draft.when(may && now.is_none(), |draft| draft.apply(HOLD)).end())
}

/// What one does who may.
pub(super) const HOLD: &str = "exec 9>/dev/cpu_dma_latency; printf '\\0\\0\\0\\0' >&9";
/// The same by a process of its own, where the shell that it is typed into cannot.
pub(super) const HOLD_APART: &str =
    "sh -c 'exec 9>/dev/cpu_dma_latency; printf \"\\0\\0\\0\\0\" >&9; exec sleep infinity' &";

fn grant(root: &Root, draft: Draft) -> Draft {
    match super::container::Advice::detect(root) {
        Some(advice) => advice.option(draft, &format!("--device={REQUEST}")),
        None => draft
            .apply(format!("sudo setfacl -m u:$(id -un):rw {REQUEST}   # of the package acl"))
            .undo(format!("sudo setfacl -b {REQUEST}")),
    }
}

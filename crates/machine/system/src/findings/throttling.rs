//! The share of every CPU that is kept for ordinary threads.

use crate::settings::RT_THROTTLING_FILE;
use crate::settings::{FAIR_SERVER_FOLDER, fair_server_runtimes};
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Kernel, Reading, Root};

use super::draft::{Draft, finding};
use super::period::every;
use super::rt_group::divides;
use crate::debugfs::Debugfs;

const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";

/// Source: Linux commits 5f6bd380 and d741f297.
fn has_fair_server(root: &Root) -> bool {
    Kernel::read(root).at_least(6, 12) == Some(true)
}

/// Linux 6.12 replaced the throttle by the fair server, except in kernels that divide
/// real-time running time among groups.
fn throttles(root: &Root) -> bool {
    !has_fair_server(root) || divides(root) == Some(true)
}

/// Said where the last bound of real-time threads is taken away.
const TAKES_ALL: &str = "only where no real-time thread spins";

/// Turns a knob without which nothing bounds real-time threads.
fn unbounded(draft: Draft, root: &Root, knob: &str) -> Draft {
    draft.turn_for_now(root, knob).remarked(TAKES_ALL)
}

/// The budget of all real-time threads.
pub(super) fn sysctl(root: &Root) -> Option<Finding> {
    let (runtime, period) = (root.reading(RT_THROTTLING_FILE), root.reading(PERIOD));
    let Some((budget, whole)) = budget(root) else {
        return (!runtime.is_missing()).then(|| unknown(&runtime));
    };
    let unlimited = budget < 0 || budget >= whole;
    let draft = match (unlimited, throttles(root)) {
        (true, _) => without_limit(has_fair_server(root)),
        (false, true) => throttled(budget, whole, has_fair_server(root)),
        (false, false) => superseded(budget, whole),
    };
    let draft = draft.seen(&runtime).seen(&period);
    Some(draft.when(!unlimited && throttles(root), |draft| unbounded(draft, root, "rt_throttling")).end())
}

/// What real-time threads may use, in microseconds, of how many; less than 0: all.
fn budget(root: &Root) -> Option<(i64, i64)> {
    let budget = root.reading(RT_THROTTLING_FILE).number()?;
    Some((budget, root.reading(PERIOD).number().unwrap_or(1_000_000)))
}

fn unknown(runtime: &Reading) -> Finding {
    finding(FindingId::RtThrottling, Verdict::Unknown, "the budget of real-time threads could not be read")
        .seen(runtime)
        .why("Real-time threads that use up this budget are stopped until the next period.")
        .end()
}

fn without_limit(fair_server: bool) -> Draft {
    let draft = finding(FindingId::RtThrottling, Verdict::Note, "real-time threads are not throttled");
    if fair_server {
        return draft.why(
            "A busy real-time thread is still cut short by the fair server, which keeps time for ordinary \
             threads once they have starved; see `fair_server`.",
        );
    }
    draft.why("Nothing cuts a busy real-time thread short. One that never sleeps takes its CPU for good.")
}

fn throttled(budget: i64, whole: i64, fair_server: bool) -> Draft {
    let (used, every, rest) = (budget / 1000, every(whole / 1000), (whole - budget) / 1000);
    finding(
        FindingId::RtThrottling,
        Verdict::Note,
        format!("real-time threads get at most {used} ms of {every}"),
    )
    .why(if fair_server { THROTTLED_AND_SERVED } else { THROTTLED })
    .typically(
        format!("{rest} ms of {every} for a thread that never sleeps, and for those that are due meanwhile"),
        "sched(7), sched_rt_runtime_us",
    )
}

const THROTTLED: &str = "A real-time thread that spins or computes without a break is stopped when the budget is used \
    up, and with it all real-time threads of its CPU, or of its group; one that becomes due then waits for the \
    rest of the period.";
/// Where both run, one without the other changes little.
const THROTTLED_AND_SERVED: &str = "A real-time thread that spins or computes without a break is stopped when the budget is \
    used up, and with it all real-time threads of its group; one that becomes due then waits for the rest of the \
    period. The fair server cuts such threads short as well, whatever this budget is; see `fair_server`.";

fn superseded(budget: i64, whole: i64) -> Draft {
    let found = format!(
        "the real-time budget reads {} of {} ms, but no longer throttles by itself",
        budget / 1000,
        whole / 1000
    );
    finding(FindingId::RtThrottling, Verdict::Note, found).why(
        "Since Linux 6.12 the fair server keeps time for ordinary threads. These two files still bound what \
         deadline threads and groups may reserve.",
    )
}

/// The reservation for ordinary threads that real-time threads starve, since Linux 6.12.
pub(super) fn fair_server(root: &Root) -> Option<Finding> {
    if !has_fair_server(root) {
        return None;
    }
    let runtimes = fair_server_runtimes(root);
    if runtimes.is_empty() {
        return Some(server_unknown(root));
    }
    let period = root.reading(format!("{FAIR_SERVER_FOLDER}/cpu0/period"));
    let millis = |nanos: u64| nanos / 1_000_000;
    let largest = runtimes.values().iter().filter_map(|value| value.parse().ok()).max().unwrap_or(0);
    let every = every(millis(period.number().unwrap_or(1_000_000_000)));
    let found = match millis(largest) {
        0 => "the fair server is off".to_owned(),
        kept => {
            format!("the fair server keeps {kept} ms of {every} for ordinary threads that starve")
        }
    };
    let draft = finding(FindingId::FairServer, Verdict::Note, found)
        .examples(&runtimes)
        .seen(&period)
        .why(SERVER_WHY);
    let mend = |draft: Draft| {
        let cost = format!("{} ms of {every}, only while ordinary threads starve", millis(largest));
        // Where both are in force, one without the other changes little.
        let both =
            throttles(root) && budget(root).is_some_and(|(budget, whole)| (0..whole).contains(&budget));
        let draft = unbounded(draft.typically(cost, SERVER_SOURCE), root, "fair_server");
        draft.when(both, |draft| unbounded(draft, root, "rt_throttling"))
    };
    Some(draft.when(largest > 0, mend).end())
}

const SERVER_WHY: &str = "Once ordinary threads on a CPU have starved long enough, they run ahead of its real-time threads. A real-time thread that becomes due meanwhile waits until their time is used.";
const SERVER_SOURCE: &str = "Linux commits 5f6bd380 and d741f297 (50 ms of 1 s by default)";

fn server_unknown(root: &Root) -> Finding {
    let seen = root.reading(format!("{FAIR_SERVER_FOLDER}/cpu0/runtime"));
    let found = "the fair server's share could not be read; it is 50 ms of every second by default";
    let draft = finding(FindingId::FairServer, Verdict::Unknown, found).seen(&seen).why(SERVER_WHY);
    match Debugfs::read(root, &seen) {
        Debugfs::Refused(refusal) if refusal.path != seen.path => draft.seen(&refusal),
        Debugfs::Refused(_) | Debugfs::Mounted => draft,
        Debugfs::Unmounted => {
            draft.apply("sudo mount -t debugfs none /sys/kernel/debug").undo("sudo umount /sys/kernel/debug")
        }
    }
    .end()
}

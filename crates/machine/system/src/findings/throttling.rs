//! CPU time reserved for normal threads: real-time throttling and the fair server.

use crate::settings::RT_THROTTLING_FILE;
use crate::settings::{FAIR_SERVER_FOLDER, NumberedFiles, fair_server_runtimes};
use howlate_model::{Finding, FindingId, Remedy, Verdict};
use howlate_procfs::{Isolation, Kernel, Reading, Root};

use super::draft::{FindingDraft, finding};
use super::rt_group::{describe_period, is_group_scheduled};
use crate::debugfs::Debugfs;

const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";

/// Whether the kernel has the fair server, since Linux 6.12.
///
/// Source: Linux commits 5f6bd380 and d741f297.
fn has_fair_server(root: &Root) -> bool {
    Kernel::read(root).at_least(6, 12) == Some(true)
}

/// Whether the real-time budget throttles. Linux 6.12 replaced it by the fair server, but kernels with
/// `CONFIG_RT_GROUP_SCHED` still throttle.
fn throttles(root: &Root) -> bool {
    !has_fair_server(root) || is_group_scheduled(root) == Some(true)
}

/// The remark where the last limit of real-time threads is removed.
const NO_LIMIT_REMARK: &str = "only where no real-time thread spins";

/// Adds the change of a tunable that removes a limit of real-time threads.
fn remove_limit(draft: FindingDraft, root: &Root, tunable: &str) -> FindingDraft {
    draft.temporary_setting(root, tunable).remark(NO_LIMIT_REMARK)
}

/// The budget of all real-time threads.
pub(super) fn sysctl(root: &Root) -> Option<Finding> {
    let (runtime, period) = (root.reading(RT_THROTTLING_FILE), root.reading(PERIOD));
    let Some((budget, period_us)) = budget(root) else {
        return (!runtime.is_missing()).then(|| unreadable_budget(&runtime));
    };
    let unlimited = budget < 0 || budget >= period_us;
    let draft = match (unlimited, throttles(root)) {
        (true, _) => unlimited_budget(has_fair_server(root)),
        (false, true) => throttling_budget(budget, period_us, has_fair_server(root)),
        (false, false) => budget_without_throttling(budget, period_us),
    };
    let draft = draft.evidence(&runtime).evidence(&period);
    Some(
        draft
            .when(!unlimited && throttles(root), |draft| remove_limit(draft, root, "rt_throttling"))
            .finish(),
    )
}

/// The budget of real-time threads and its period, in microseconds; a negative budget is unlimited.
fn budget(root: &Root) -> Option<(i64, i64)> {
    let budget = root.reading(RT_THROTTLING_FILE).number()?;
    Some((budget, root.reading(PERIOD).number().unwrap_or(1_000_000)))
}

fn unreadable_budget(runtime: &Reading) -> Finding {
    finding(FindingId::RtThrottling, Verdict::Unknown, "the budget of real-time threads could not be read")
        .evidence(runtime)
        .why("Real-time threads that use up this budget are stopped until the next period.")
        .finish()
}

fn unlimited_budget(fair_server: bool) -> FindingDraft {
    let draft = finding(FindingId::RtThrottling, Verdict::Note, "real-time threads are not throttled");
    if fair_server {
        return draft.why(
            "A busy real-time thread is still cut short by the fair server, which keeps time for normal \
             threads once they have starved; see `fair_server`.",
        );
    }
    draft.why("Nothing cuts a busy real-time thread short. One that never sleeps takes its CPU for good.")
}

fn throttling_budget(budget: i64, period_us: i64, fair_server: bool) -> FindingDraft {
    let (used, every, rest) = (budget / 1000, describe_period(period_us / 1000), (period_us - budget) / 1000);
    finding(
        FindingId::RtThrottling,
        Verdict::Note,
        format!("real-time threads get at most {used} ms of {every}"),
    )
    .why(if fair_server { THROTTLED_WITH_FAIR_SERVER } else { THROTTLED })
    .cost(
        format!("{rest} ms of {every} for a thread that never sleeps, and for those that are due meanwhile"),
        "sched(7), sched_rt_runtime_us",
    )
}

const THROTTLED: &str = "A real-time thread that spins or computes without a break is stopped when the budget is used \
    up, and with it all real-time threads of its CPU, or of its group; one that becomes due then waits for the \
    rest of the period.";
/// Where throttling and the fair server are both in force.
const THROTTLED_WITH_FAIR_SERVER: &str = "A real-time thread that spins or computes without a break is stopped when the budget is \
    used up, and with it all real-time threads of its group; one that becomes due then waits for the rest of the \
    period. The fair server cuts such threads short as well, whatever this budget is; see `fair_server`.";

fn budget_without_throttling(budget: i64, period_us: i64) -> FindingDraft {
    let found = format!(
        "the real-time budget reads {} of {} ms, but no longer throttles by itself",
        budget / 1000,
        period_us / 1000
    );
    finding(FindingId::RtThrottling, Verdict::Note, found).why(
        "Since Linux 6.12 the fair server keeps time for normal threads. These two files still bound what \
         deadline threads and groups may reserve.",
    )
}

/// The reservation for normal threads that real-time threads starve, since Linux 6.12.
pub(super) fn fair_server(root: &Root) -> Option<Finding> {
    if !has_fair_server(root) {
        return None;
    }
    let runtimes = fair_server_runtimes(root);
    if runtimes.is_empty() {
        return Some(unreadable_fair_server(root));
    }
    let restarts_ticks = with_tickless_cpus(root, &runtimes);
    if !restarts_ticks.is_empty() {
        return Some(ticking(&restarts_ticks));
    }
    let period = root.reading(format!("{FAIR_SERVER_FOLDER}/cpu0/period"));
    let millis = |nanos: u64| nanos / 1_000_000;
    let largest = runtimes.values().iter().filter_map(|value| value.parse().ok()).max().unwrap_or(0);
    let every = describe_period(millis(period.number().unwrap_or(1_000_000_000)));
    let found = match millis(largest) {
        0 => "the fair server is off".to_owned(),
        reserved => {
            format!("the fair server keeps {reserved} ms of {every} for normal threads that starve")
        }
    };
    let draft = finding(FindingId::FairServer, Verdict::Note, found)
        .examples(&runtimes)
        .evidence(&period)
        .why(SERVER_WHY);
    let add_remedy = |draft: FindingDraft| {
        let cost = format!("{} ms of {every}, only while normal threads starve", millis(largest));
        // Where both are in force, removing only one changes little.
        let both = throttles(root)
            && budget(root).is_some_and(|(budget, period_us)| (0..period_us).contains(&budget));
        let draft = remove_limit(draft.cost(cost, SERVER_SOURCE), root, "fair_server");
        draft.when(both, |draft| remove_limit(draft, root, "rt_throttling"))
    };
    Some(draft.when(largest > 0, add_remedy).finish())
}

/// The reservations on CPUs of `nohz_full=`.
fn with_tickless_cpus(root: &Root, runtimes: &NumberedFiles) -> NumberedFiles {
    let tickless = Isolation::read(root).tickless;
    runtimes.filter_numbers(|cpu| tickless.contains(cpu)).filter_values(|value| value != "0")
}

/// The fair server's timer on a CPU without a tick makes the CPU tick again.
fn ticking(runtimes: &NumberedFiles) -> Finding {
    let found =
        format!("the fair server makes CPUs tick that are to have none (nohz_full): {}", runtimes.numbers());
    finding(FindingId::FairServer, Verdict::Costs, found)
        .examples(runtimes)
        .why(
            "Its timer comes again and again on each CPU, and starts the tick that `nohz_full=` stops. Without the \
             reservation on those CPUs there is no such timer.",
        )
        .cost("about 1000 interrupts a second on each of them", "github.com/NVIDIA/NV-Kernels/pull/400, on Linux since 6.12")
        .remedy(Remedy { lasting: Vec::new(), ..runtimes.write("0").remedy })
        .remark(NO_LIMIT_REMARK)
        .finish()
}

const SERVER_WHY: &str = "Once normal threads on a CPU have starved long enough, they run ahead of its real-time threads. A real-time thread that becomes due meanwhile waits until their time is used.";
const SERVER_SOURCE: &str = "Linux commits 5f6bd380 and d741f297 (50 ms of 1 s by default)";

fn unreadable_fair_server(root: &Root) -> Finding {
    let reading = root.reading(format!("{FAIR_SERVER_FOLDER}/cpu0/runtime"));
    let found = "the fair server's share could not be read; it is 50 ms of every second by default";
    let draft = finding(FindingId::FairServer, Verdict::Unknown, found).evidence(&reading).why(SERVER_WHY);
    match Debugfs::read(root, &reading) {
        Debugfs::Refused(refusal) if refusal.path != reading.path => draft.evidence(&refusal),
        Debugfs::Refused(_) | Debugfs::Mounted => draft,
        Debugfs::Unmounted => {
            draft.apply("sudo mount -t debugfs none /sys/kernel/debug").undo("sudo umount /sys/kernel/debug")
        }
    }
    .finish()
}

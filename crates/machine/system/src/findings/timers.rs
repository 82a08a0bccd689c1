//! Timers: resolution, migration between CPUs, tick frequency, timer slack.

use crate::settings::{NOHZ_FULL_FILE, TIMER_MIGRATION_FILE, TIMER_SLACK_FILE};
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CommandLine, Kernel, Reading, Root, read_cpu_list};

use super::draft::finding;
use super::permissions::may_be_realtime;
use crate::kernel_config::KernelConfig;

const ID: FindingId = FindingId::HighResolutionTimers;
const WHY: &str = "Without them a sleep can only end at a tick.";

/// Whether high-resolution timers are active: by `/proc/timer_list` if this is root; else by the kernel's configuration
/// and command line.
pub(super) fn resolution(root: &Root) -> Option<Finding> {
    let timers = root.reading("/proc/timer_list");
    let active = timers.lines(|line| line.contains(".hres_active") || line.contains(".resolution"));
    let switches = timers.lines(|line| line.contains(".hres_active"));
    match switches.text() {
        Some(text) if text.contains(": 1") && !text.contains(": 0") => {
            Some(active_timers(&distinct_lines(&active)))
        }
        Some(text) if text.contains(": 0") => Some(inactive_timers(root, &switches)),
        _ => Some(resolution_by_configuration(root, &timers)),
    }
}

/// One line of each kind: the list repeats them for each CPU.
fn distinct_lines(list: &Reading) -> Reading {
    let mut kinds: Vec<&str> = list.text().unwrap_or_default().lines().map(str::trim).collect();
    kinds.sort_unstable();
    kinds.dedup();
    Reading { path: list.path.clone(), content: Ok(kinds.join("\n")) }
}

fn active_timers(reading: &Reading) -> Finding {
    finding(ID, Verdict::Good, "high-resolution timers are active").evidence(reading).why(WHY).finish()
}

fn inactive_timers(root: &Root, reading: &Reading) -> Finding {
    let hz: u64 = KernelConfig::read(root).value("CONFIG_HZ").and_then(|hz| hz.parse().ok()).unwrap_or(0);
    let tick = 1_000_000_u64.checked_div(hz).map(|us| format!("up to one tick, {us} µs here"));
    let tick = tick.unwrap_or_else(|| "up to one tick: 1 to 10 ms".into());
    finding(ID, Verdict::Costs, "high-resolution timers are off: sleeps end at a tick")
        .evidence(&distinct_lines(reading))
        .why(WHY)
        .cost(tick, "time(7), The software clock, HZ, and jiffies")
        .apply(
            "remove `highres=off`, `nohz=off` and slow `clocksource=` choices from the kernel's \
            command line and restart",
        )
        .undo("add them to the kernel's command line again and restart")
        .finish()
}

fn resolution_by_configuration(root: &Root, timers: &Reading) -> Finding {
    let config = KernelConfig::read(root);
    let line = CommandLine::read(root);
    let build = config.only(&["CONFIG_HIGH_RES_TIMERS"]);
    let switched_off = line.value("highres") == Some("off");
    match config.has("CONFIG_HIGH_RES_TIMERS") {
        Some(built) if !built || switched_off => {
            inactive_timers(root, &if built { line.only(&["highres"]) } else { build })
        }
        Some(_) => finding(ID, Verdict::Good, "high-resolution timers are built in and not switched off")
            .evidence(&build)
            .evidence(&line.only(&["highres"]))
            .why(WHY)
            .finish(),
        None => finding(ID, Verdict::Unknown, "whether high-resolution timers are active could not be read")
            .evidence(timers)
            .evidence(&build)
            .why(WHY)
            .finish(),
    }
}

/// Whether a timer may be queued on another CPU than the one that sets it.
///
/// That happens if the CPU is idle at that moment, or is one of `nohz_full`. A thread that sets a timer for its own
/// sleep is running, so its CPU is not idle: only `nohz_full` moves such timers.
///
/// Source: kernel/sched/core.c, `get_nohz_timer_target`.
pub(super) fn migration(root: &Root) -> Option<Finding> {
    let migration = root.reading(TIMER_MIGRATION_FILE);
    let tickless = root.reading(NOHZ_FULL_FILE);
    let several = read_cpu_list(root, "/sys/devices/system/cpu/online").len() > 1;
    let on = migration.text()? != "0";
    let has_tickless = tickless.text().is_some_and(|cpus| !matches!(cpus, "" | "(null)"));
    let (verdict, found) = match (on, has_tickless) {
        (true, true) => (Verdict::Costs, "timers set on nohz_full CPUs expire on house-keeping CPUs"),
        (true, false) => (Verdict::Note, "timers set from interrupts on idle CPUs may move to another CPU"),
        (false, _) => (Verdict::Good, "timers stay on the CPU that set them"),
    };
    let draft = finding(FindingId::TimerMigration, verdict, found).evidence(&migration).evidence(&tickless).why(
        "A timer that moved expires on another CPU, which must then wake this one. A thread that sets the \
            timer of its own sleep keeps its CPU busy meanwhile, so that its timer stays, unless the CPU is \
            one of `nohz_full`.",
    );
    several.then(|| draft.when(on && has_tickless, |draft| draft.setting(root, "timer_migration")).finish())
}

/// The frequency of the tick.
pub(super) fn tick(root: &Root) -> Option<Finding> {
    let config = KernelConfig::read(root);
    let reading = config.only(&["CONFIG_HZ"]);
    let Some(hz) = config.value("CONFIG_HZ").and_then(|hz| hz.parse::<u32>().ok()).filter(|hz| *hz > 0)
    else {
        let draft = finding(FindingId::Tick, Verdict::Unknown, "how often the tick comes could not be read");
        return Some(draft.evidence(&reading).why(TICK_WHY).finish());
    };
    let found = format!("the tick comes {hz} times a second, every {:.2} ms", 1000.0 / f64::from(hz));
    let why = if slices_end_on_time(root) { TICK_WHY_WITH_HRTICK } else { TICK_WHY };
    Some(finding(FindingId::Tick, Verdict::Note, found).evidence(&reading).why(why).finish())
}

/// Whether a timer of their own ends time slices: by default since Linux 7.1, if timers are rearmed late.
///
/// Source: kernel/sched/features.h, `HRTICK`.
fn slices_end_on_time(root: &Root) -> bool {
    let features = root.reading("/sys/kernel/debug/sched/features");
    match features.text() {
        Some(features) => features.split_whitespace().any(|feature| feature == "HRTICK"),
        None => {
            let config = KernelConfig::read(root);
            Kernel::read(root).at_least(7, 1) == Some(true)
                && config.value("CONFIG_HRTIMER_REARM_DEFERRED") == Some("y")
        }
    }
}

const TICK_WHY_WITH_HRTICK: &str = "Neither sleeps nor time slices wait for the tick on this kernel. The kernel's own timeouts do, and each \
    tick interrupts a busy CPU.";

const TICK_WHY: &str = "Sleeps do not wait for the tick where timers have a high resolution. Scheduling \
    slices and the kernel's own timeouts do, and each tick interrupts a busy CPU.";

/// Timer slack below this, in nanoseconds, does not show in wake-up latencies.
const NEGLIGIBLE_SLACK_NS: u64 = 1_000;

/// The timer slack of normal threads.
pub(super) fn slack(root: &Root) -> Option<Finding> {
    let slack = root.reading(TIMER_SLACK_FILE);
    let nanos: u64 = slack.number()?;
    let is_noticeable = nanos > NEGLIGIBLE_SLACK_NS;
    let verdict = match is_noticeable {
        false => Verdict::Good,
        // Real-time threads have no slack.
        true if Kernel::is_realtime(root) || may_be_realtime(root) => Verdict::Note,
        true => Verdict::Costs,
    };
    let found = format!("timers of this process may expire {} µs late", nanos / 1000);
    let draft = finding(FindingId::TimerSlack, verdict, found).evidence(&slack).why(
        "The kernel delays the sleeps and timeouts of normal threads by up to this much, so that \
            several can end together. Real-time threads and timerfd are exempt.",
    );
    let draft = draft.when(is_noticeable, |draft| {
        draft
            .cost(
                format!("{} µs on every sleep of a normal thread", nanos / 1000),
                "prctl(2), PR_SET_TIMERSLACK; the step of 50 µs in RPCS3 pull request 6697",
            )
            .apply("echo 1 > /proc/$$/timerslack_ns   # this shell and what it starts")
            .apply("in a program of your own, call `prctl(PR_SET_TIMERSLACK, 1)` in each thread")
            .undo(format!("echo {nanos} > /proc/$$/timerslack_ns"))
    });
    Some(draft.finish())
}

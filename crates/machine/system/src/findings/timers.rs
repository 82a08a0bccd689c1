//! Whether timers expire between ticks, and on which CPU.

use crate::settings::{NOHZ_FULL_FILE, TIMER_MIGRATION_FILE};
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CommandLine, Reading, Root, read_cpu_list};

use super::draft::finding;
use crate::kernel_config::KernelConfig;

const ID: FindingId = FindingId::HighResolutionTimers;
const WHY: &str = "Without them a sleep can only end at a tick.";

/// Whether high-resolution timers are active: best from `/proc/timer_list`, which only
/// root may read; else from the kernel's build and command line.
pub(super) fn resolution(root: &Root) -> Option<Finding> {
    let timers = root.reading("/proc/timer_list");
    let active = timers.lines(|line| line.contains(".hres_active") || line.contains(".resolution"));
    let switches = timers.lines(|line| line.contains(".hres_active"));
    match switches.text() {
        Some(text) if text.contains(": 1") && !text.contains(": 0") => Some(good(&first_of_each(&active))),
        Some(text) if text.contains(": 0") => Some(off(root, &switches)),
        _ => Some(by_build(root, &timers)),
    }
}

/// The list repeats itself for each CPU; one line of each kind is enough to show.
fn first_of_each(list: &Reading) -> Reading {
    let mut kinds: Vec<&str> = list.text().unwrap_or_default().lines().map(str::trim).collect();
    kinds.sort_unstable();
    kinds.dedup();
    Reading { path: list.path.clone(), content: Ok(kinds.join("\n")) }
}

fn good(seen: &Reading) -> Finding {
    finding(ID, Verdict::Good, "high-resolution timers are active").seen(seen).why(WHY).end()
}

fn off(root: &Root, seen: &Reading) -> Finding {
    let hz: u64 = KernelConfig::read(root).value("CONFIG_HZ").and_then(|hz| hz.parse().ok()).unwrap_or(0);
    let tick = 1_000_000_u64.checked_div(hz).map(|us| format!("up to one tick, {us} µs here"));
    let tick = tick.unwrap_or_else(|| "up to one tick: 1 to 10 ms".into());
    finding(ID, Verdict::Costs, "high-resolution timers are off: sleeps end at a tick")
        .seen(&first_of_each(seen))
        .why(WHY)
        .typically(tick, "time(7), The software clock, HZ, and jiffies")
        .apply(
            "remove `highres=off`, `nohz=off` and slow `clocksource=` choices from the kernel's \
            command line and restart",
        )
        .undo("add them to the kernel's command line again and restart")
        .end()
}

fn by_build(root: &Root, timers: &Reading) -> Finding {
    let config = KernelConfig::read(root);
    let line = CommandLine::read(root);
    let build = config.only(&["CONFIG_HIGH_RES_TIMERS"]);
    let switched_off = line.value("highres") == Some("off");
    match config.has("CONFIG_HIGH_RES_TIMERS") {
        Some(built) if !built || switched_off => {
            off(root, &if built { line.only(&["highres"]) } else { build })
        }
        Some(_) => finding(ID, Verdict::Good, "high-resolution timers are built in and not switched off")
            .seen(&build)
            .seen(&line.only(&["highres"]))
            .why(WHY)
            .end(),
        None => finding(ID, Verdict::Unknown, "whether high-resolution timers are active could not be read")
            .seen(timers)
            .seen(&build)
            .why(WHY)
            .end(),
    }
}

/// Whether a timer may be queued on another CPU than the one that sets it.
///
/// It is, when that CPU is idle at that moment, or keeps house for nobody (`nohz_full`). A thread that
/// sets a timer for its own sleep runs, so its CPU is not idle: only `nohz_full` moves such timers.
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
    let draft = finding(FindingId::TimerMigration, verdict, found).seen(&migration).seen(&tickless).why(
        "A timer that moved expires on another CPU, which must then wake this one. A thread that sets the \
            timer of its own sleep keeps its CPU busy meanwhile, so that its timer stays, unless the CPU is \
            one of `nohz_full`.",
    );
    several.then(|| draft.when(on && has_tickless, |draft| draft.turn(root, "timer_migration")).end())
}

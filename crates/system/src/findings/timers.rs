//! Whether timers expire between ticks, and on which CPU.

use howlate_model::{Finding, Verdict};

use super::draft::finding;
use crate::command_line::CommandLine;
use crate::kernel_config::KernelConfig;
use crate::reading::Reading;
use crate::root::Root;

const ID: &str = "high_resolution_timers";
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
    let hz: u64 = KernelConfig::of(root).value("CONFIG_HZ").and_then(|hz| hz.parse().ok()).unwrap_or(0);
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
    let config = KernelConfig::of(root);
    let line = CommandLine::of(root);
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

/// Whether timers of idle CPUs may be handed to busy ones.
pub(super) fn migration(root: &Root) -> Option<Finding> {
    let path = "/proc/sys/kernel/timer_migration";
    let migration = root.reading(path);
    let several = crate::describe::list_of_cpus(root, "/sys/devices/system/cpu/online").len() > 1;
    let on = migration.text()? != "0";
    let found = if on { "timers may move to another CPU" } else { "timers stay on the CPU that set them" };
    let verdict = if on { Verdict::Note } else { Verdict::Good };
    let draft = finding("timer_migration", verdict, found).seen(&migration).why(
        "A timer that moved expires on another CPU, which must then wake this one. Threads bound to a \
            CPU that is idle when they set a timer are the ones it happens to.",
    );
    several.then(|| draft.when(on, |draft| draft.write(path, "0", "1")).end())
}

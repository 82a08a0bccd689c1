//! `howlate --debug-report`: a text for a bug report, without host name and command lines. Findings may name services, control groups
//! and devices, which are what they are about: the text says so.

use std::fmt::Write;

use howlate_model::{Header, Node, System};
use howlate_procfs::{CommandLine, Root};
use howlate_recording::{Reader, most_recent};
use howlate_render::wrapped;
use howlate_system::{describe, examine};
use howlate_trace::{Choice, Tier, WaitChoice, WaitSource, open, read_waits};
use serde_json::{Value, json};

use crate::debug_log::user;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;

/// Kernel parameters that affect latency, shown with their values. Values of others may be secret.
const PUBLIC_PARAMETERS: &[&str] = &[
    "amd_pstate",
    "cgroup_no_v1",
    "clocksource",
    "cpufreq",
    "cpuidle",
    "hpet",
    "hugepages",
    "idle",
    "init_on_alloc",
    "intel_idle",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "maxcpus",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nosmt",
    "nowatchdog",
    "pcie_aspm",
    "preempt",
    "processor",
    "psi",
    "quiet",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "rcupdate",
    "rcutree",
    "skew_tick",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
    "workqueue",
];

pub(crate) fn run() -> Result<ExitStatus, Error> {
    let root = Root::live();
    let mut text = wrapped(
        "Nothing was sent anywhere. Host name and command lines are left out; services, control groups and devices of this machine may be named. Read it before you post it.",
        terminal::width(),
        0,
    );
    text.push_str("\n\n");
    let features = [("png", cfg!(feature = "png")), ("parquet", cfg!(feature = "parquet"))];
    let features: Vec<&str> = features.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| *name).collect();
    let (version, processor) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    let kind = if cfg!(debug_assertions) { "debug" } else { "release" };
    _ = writeln!(text, "howlate {version}, {processor}, {kind} build, features: {}", join_or_none(&features));
    _ = writeln!(text, "run by {}\n", user());
    text.push_str(&tracers());
    let command_line = CommandLine::read(&root).redacted(PUBLIC_PARAMETERS);
    let system = System { command_line, ..describe(&root) };
    let document = json!({ "system": system, "findings": examine(&root), "last_run": last_run() });
    let document = serde_json::to_string_pretty(&document)?;
    _ = writeln!(text, "\n```json\n{document}\n```");
    terminal::print(&text)?;
    Ok(ExitStatus::Done)
}

fn join_or_none(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Tests whether each tracer and each reader of waits can be opened, without tracing.
fn tracers() -> String {
    let tracer = |tier: Tier| {
        let opened = open(Choice::Only(tier), &[std::process::id()]);
        let refusal = opened.refused.into_iter().next().map(|(_, refusal)| refusal.to_string());
        format!("tracer {}: {}\n", tier.name(), refusal.as_deref().unwrap_or("opens"))
    };
    let reader = |(name, source): (&str, WaitSource)| {
        let refusal = read_waits(WaitChoice::Only(source)).err().map(|refusal| refusal.to_string());
        format!("waits by {name}: {}\n", refusal.as_deref().unwrap_or("opens"))
    };
    let readers = [("bpf", WaitSource::Bpf), ("proc", WaitSource::Proc)];
    Tier::ALL.into_iter().map(tracer).chain(readers.into_iter().map(reader)).collect()
}

/// Header of the most recent run in the history, without private data; `null` where there is none.
fn last_run() -> Value {
    let header = most_recent().and_then(|path| Reader::open(&path).ok()).map(Reader::into_header);
    let header = header.map(|header| Header {
        node: Node::default(),
        arguments: option_names(&header.arguments),
        conditions: Vec::new(),
        system: System::default(),
        findings: Vec::new(),
        ..header
    });
    header.and_then(|header| serde_json::to_value(header).ok()).unwrap_or(Value::Null)
}

/// Options without their values: `--period=1ms` as `--period=…`, `-ofile` as `-o…`. Other arguments may be paths and programs, and
/// become `…`.
fn option_names(arguments: &[String]) -> Vec<String> {
    let own = arguments.iter().take_while(|argument| *argument != "--");
    own.map(|argument| option_name(argument)).collect()
}

fn option_name(argument: &str) -> String {
    if argument.starts_with("--") {
        return argument.split_once('=').map_or_else(|| argument.to_owned(), |(name, _)| format!("{name}=…"));
    }
    match argument.strip_prefix('-').and_then(|letters| letters.chars().next()) {
        // What follows may be letters of more options, or the value of the first.
        Some(letter) if argument.len() > 1 + letter.len_utf8() => format!("-{letter}…"),
        Some(letter) => format!("-{letter}"),
        None => "…".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_was_typed_the_options_are_named() {
        let typed = ["watch", "--out=a", "-q", "-osecret", "-", "--why", "--", "./my-robot", "--key"];
        assert_eq!(option_names(&typed.map(str::to_owned)).join(" "), "… --out=… -q -o… … --why");
    }
}

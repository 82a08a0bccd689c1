//! `RLIMIT_RTTIME`: how long a real-time thread may run without sleeping.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Limits, Root, UNLIMITED};

use super::draft::finding;
use crate::process::Process;

const LIMIT: &str = "Max realtime timeout";

/// The kernel sends `SIGXCPU` at the soft limit and each second after it, `SIGKILL` at the hard limit. Only a blocking call
/// resets the count; `sched_yield` does not.
///
/// Source: `getrlimit(2)`.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let limits = Limits::read(root);
    let soft = limits.soft(LIMIT).filter(|soft| *soft != UNLIMITED)?;
    let hard = limits.hard(LIMIT).unwrap_or(UNLIMITED);
    let found = format!(
        "a real-time thread that computes for {} without sleeping has its program ended (RLIMIT_RTTIME)",
        describe_micros(soft)
    );
    let draft = finding(FindingId::RealtimeTime, Verdict::Costs, found).evidence(&limits.evidence(LIMIT)).why(
        "The kernel sends SIGXCPU at the soft limit, and SIGKILL at the hard one. Programs inherit it; rtkit demands it of those \
         that it makes real-time, 200 ms by default. What sleeps often enough is never ended by it.",
    );
    let may_raise = hard == UNLIMITED || Process::read(root).holds("CAP_SYS_RESOURCE") == Some(true);
    let sudo = if may_raise { "" } else { "sudo " };
    let unlimited = if hard == UNLIMITED { "unlimited:" } else { "unlimited" };
    let format_limit =
        |limit: u64| if limit == UNLIMITED { "unlimited".to_owned() } else { limit.to_string() };
    let before =
        if hard == UNLIMITED { format!("{soft}:") } else { format!("{soft}:{}", format_limit(hard)) };
    let draft = draft
        .apply(format!("{sudo}prlimit --pid $$ --rttime={unlimited}   # this shell and what it starts"))
        .apply("in a unit of systemd, `LimitRTTIME=infinity`")
        .undo(format!("prlimit --pid $$ --rttime={before}"));
    Some(draft.finish())
}

/// A time in its largest fitting unit.
fn describe_micros(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..10_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{} s", micros / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(limit: &str, capabilities: &str) -> Option<Finding> {
        let limits =
            format!("Limit  Soft Limit  Hard Limit  Units\nMax realtime timeout      {limit}  us        \n");
        let status = format!("CapEff:\t{capabilities}\n");
        let tree = howlate_testing::tree(&[("proc/self/limits", &limits), ("proc/self/status", &status)]);
        examine(&Root::at(tree.path()))
    }

    const NONE: &str = "0000000000000000";

    #[test]
    fn a_limit_is_found_with_commands_to_raise_and_restore_it() {
        assert_eq!(found("unlimited            unlimited", NONE), None);
        let soft = found("200000               unlimited", NONE).unwrap();
        assert_eq!((soft.verdict, &soft.id), (Verdict::Costs, &FindingId::RealtimeTime));
        assert!(soft.found.contains("200 ms"), "{}", soft.found);
        let remedy = soft.remedy.unwrap();
        assert!(remedy.apply[0].starts_with("prlimit --pid $$ --rttime=unlimited: "), "{remedy:?}");
        assert_eq!(remedy.undo, ["prlimit --pid $$ --rttime=200000:"]);
    }

    #[test]
    fn a_hard_limit_takes_root_to_raise() {
        let apply =
            |capabilities| found("200000  250000", capabilities).unwrap().remedy.unwrap().apply.remove(0);
        assert!(apply(NONE).starts_with("sudo prlimit --pid $$ --rttime=unlimited "));
        // CAP_SYS_RESOURCE is bit 24.
        assert!(apply("0000000001000000").starts_with("prlimit "));
        let undo = found("200000  250000", NONE).unwrap().remedy.unwrap().undo;
        assert_eq!(undo, ["prlimit --pid $$ --rttime=200000:250000"]);
    }
}

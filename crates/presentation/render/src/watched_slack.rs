//! The timer slack of a watched thread, which is not that of howlate.

use std::borrow::Cow;

use howlate_analyse::{Analysis, Outcome};
use howlate_model::{
    Command, EffectiveSettings, Evidence, Finding, FindingId, Remedy, Span, Verdict, WorkKind,
};

use crate::command_line::is_started;
use crate::numbers::length;

/// Less slack does not show in the latency of a normal thread.
const UNNOTICED: Span = Span::from_micros(1);

/// The kernel's default, inherited by all threads that set no other: prctl(2), `PR_SET_TIMERSLACK`.
pub(crate) const USUAL_SLACK: Span = Span::from_micros(50);

/// Whether a finding is about howlate's own process, and so about no thread of the watched program.
pub(crate) const fn is_about_howlate(id: &FindingId) -> bool {
    matches!(
        id,
        FindingId::RealtimePermission
            | FindingId::RtGroupScheduling
            | FindingId::NicePermission
            | FindingId::TimerSlack
            | FindingId::CpuQuota
            | FindingId::MemoryLock
    )
}

/// The findings for the thread of this outcome. Rights, limits and timer slack that `doctor` read are howlate's, not those of the program.
pub(crate) fn findings_for<'a>(outcome: &Outcome, analysis: &'a Analysis) -> Cow<'a, [Finding]> {
    let findings = &analysis.header.findings;
    let Some(own) = in_force(outcome) else { return Cow::Borrowed(findings) };
    let of_machine = findings.iter().filter(|finding| !is_about_howlate(&finding.id)).cloned();
    let of_thread = (own.slack > UNNOTICED).then(|| finding(own.tid, own.slack, analysis));
    Cow::Owned(of_machine.chain(of_thread).collect())
}

/// What was in force for a watched thread.
fn in_force(outcome: &Outcome) -> Option<&EffectiveSettings> {
    let is_watched = outcome.condition.work.kind() == WorkKind::Watch;
    outcome.in_force.as_ref().filter(|_| is_watched)
}

/// The finding on a thread's timer slack, and how to change it.
pub(crate) fn finding(tid: u32, slack: Span, analysis: &Analysis) -> Finding {
    let (nanos, slack) = (slack.as_nanos(), length(slack));
    let found = format!("timers of this thread ({tid}) may expire {slack} late: its own timer slack");
    let is_inherited = nanos == slack_of_howlate(analysis);
    let runs_on = analysis.header.command == Command::Watch && !is_started(&analysis.header.arguments);
    let in_program =
        "in the program, call `prctl(PR_SET_TIMERSLACK, 1)` in each thread that is to be punctual";
    let mut apply = Vec::new();
    let mut undo = Vec::new();
    if runs_on {
        apply.push(format!("echo 1 > /proc/{tid}/timerslack_ns   # until it ends, or sets it again"));
        undo.push(format!("echo {nanos} > /proc/{tid}/timerslack_ns"));
    } else if is_inherited {
        apply.push("echo 1 > /proc/$$/timerslack_ns   # this shell and what it starts".to_owned());
        undo.push(format!("echo {nanos} > /proc/$$/timerslack_ns"));
    }
    apply.push(in_program.to_owned());
    if !is_inherited {
        apply.push(format!(
            "look where {slack} is set: `prctl(PR_SET_TIMERSLACK, {nanos})` in the program or in what started it, or `TimerSlackNSec=` of its \
             unit in systemd; threads and children inherit it"
        ));
        undo.push("take the call out again".to_owned());
    }
    Finding {
        id: FindingId::TimerSlack,
        verdict: Verdict::Costs,
        found,
        evidence: vec![Evidence { path: format!("/proc/{tid}/timerslack_ns"), value: nanos.to_string() }],
        why: "The kernel delays the sleeps and timeouts of normal threads by up to this much, so that several can end together."
            .to_owned(),
        cost: None,
        remedy: Some(Remedy { apply, undo, ..Remedy::default() }),
    }
}

/// howlate's own slack, which a program that it starts inherits; the default where it was not read.
fn slack_of_howlate(analysis: &Analysis) -> u64 {
    let finding = analysis.header.findings.iter().find(|finding| finding.id == FindingId::TimerSlack);
    let read = finding.and_then(|finding| finding.evidence.first()?.value.parse().ok());
    read.unwrap_or(USUAL_SLACK.as_nanos())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use howlate_model::Line;

    use super::*;

    fn watched(slack_us: u64, arguments: &[&str]) -> Analysis {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/recordings/v1/watch.jsonl");
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Line>(line).unwrap());
        let Some(Line::Header(mut header)) = lines.next() else { panic!("no header") };
        header.arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let evidence = vec![Evidence { path: String::new(), value: "50000".into() }];
        let (id, verdict, found) = (FindingId::TimerSlack, Verdict::Costs, "howlate's own".to_owned());
        header.findings =
            vec![Finding { id, verdict, found, evidence, why: String::new(), cost: None, remedy: None }];
        let mut analysis = Analysis::new(*header);
        for mut line in lines {
            if let Line::Started(started) = &mut line {
                started.in_force.slack = Span::from_micros(slack_us);
            }
            analysis.add(&line);
        }
        analysis
    }

    fn findings(slack_us: u64, arguments: &[&str]) -> Vec<Finding> {
        let analysis = watched(slack_us, arguments);
        findings_for(&analysis.outcomes()[0], &analysis).into_owned()
    }

    fn steps(slack_us: u64, arguments: &[&str]) -> Vec<String> {
        findings(slack_us, arguments)[0].remedy.clone().unwrap().apply
    }

    #[test]
    fn a_watched_thread_has_a_slack_of_its_own() {
        let own = findings(20_000, &["watch", "--", "./bigslack"]);
        assert_eq!(own.len(), 1, "in place of howlate's own: {own:?}");
        assert!(own[0].found.contains("20 ms"), "{}", own[0].found);
        assert_eq!(findings(1, &["watch", "4711"]), [], "nothing to do about a nanosecond");
    }

    #[test]
    fn the_advice_is_for_the_program() {
        let started = steps(20_000, &["watch", "--", "./bigslack"]);
        assert!(!started.iter().any(|step| step.contains("$$")), "it sets its own: {started:?}");
        assert!(started.iter().any(|step| step.contains("TimerSlackNSec=")), "{started:?}");
        let inherited = steps(50, &["watch", "--", "./slack"]);
        assert!(inherited[0].starts_with("echo 1 > /proc/$$/"), "{inherited:?}");
        let running = steps(50, &["watch", "4711"]);
        assert!(running[0].starts_with("echo 1 > /proc/") && !running[0].contains("$$"), "{running:?}");
    }
}

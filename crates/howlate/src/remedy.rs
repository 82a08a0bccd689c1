//! What to do about a refused policy: read the machine before advising.

use howlate_model::{Caveat, Finding, Line, Policy};

/// Completes the caveats of a line with what would help.
pub(crate) fn advise(line: &mut Line, findings: &[Finding]) {
    let Line::Started(started) = line else { return };
    for caveat in &mut started.caveats {
        if let Caveat::PolicyRefused { asked, remedy, .. } = caveat {
            *remedy = for_policy(*asked, findings);
        }
    }
}

/// What would let this process have `policy`.
pub(crate) fn for_policy(policy: Policy, findings: &[Finding]) -> String {
    let finding = |id: &str| findings.iter().find(|finding| finding.id == id);
    match policy {
        Policy::Other { .. } | Policy::Batch | Policy::Idle => {
            "Run as root, or raise the limit: `ulimit -e 40` lets you go down to nice -20.".to_owned()
        }
        Policy::Fifo { priority } | Policy::Rr { priority } => {
            let group = finding("rt_group_scheduling").filter(|finding| blocks(finding));
            let permission = finding("realtime_permission").filter(|finding| blocks(finding));
            group.or(permission).and_then(steps_of).unwrap_or_else(|| {
                format!("Run as root, or raise the limit: `ulimit -r {}`.", priority.get())
            })
        }
        Policy::Deadline { .. } => {
            "SCHED_DEADLINE needs root (CAP_SYS_NICE), all CPUs allowed, and free deadline bandwidth."
                .to_owned()
        }
    }
}

fn blocks(finding: &Finding) -> bool {
    finding.verdict == howlate_model::Verdict::Blocks
}

fn steps_of(finding: &Finding) -> Option<String> {
    let steps = &finding.remedy.as_ref()?.apply;
    let steps: Vec<String> = steps.iter().map(|step| format!("`{step}`")).collect();
    steps.first()?;
    Some(format!("{}: {}", sentence(&finding.found), steps.join(", then ")))
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

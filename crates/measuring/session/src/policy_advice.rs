//! What to do about a refused policy: read the machine before advising.

use howlate_model::{Caveat, Finding, FindingId, Header, Line, Policy, PolicyRemedy};

use crate::deadline_obstacle::Facts;

/// Completes the caveats of a line with what would help; so many `threads` run side by side.
pub(crate) fn advise(line: &mut Line, header: &Header, threads: usize) {
    let Line::Started(started) = line else { return };
    for caveat in &mut started.caveats {
        if let Caveat::PolicyRefused { asked, reason, would_help, .. } = caveat {
            *would_help = Some(match asked {
                Policy::Deadline { .. } => Facts::read(&header.system).obstacle(*asked, reason, threads),
                _ => for_policy(*asked, &header.findings),
            });
        }
    }
}

/// What would let this process have `policy`.
pub fn for_policy(policy: Policy, findings: &[Finding]) -> PolicyRemedy {
    match policy {
        Policy::Other { .. } | Policy::Batch | Policy::Idle => PolicyRemedy::NiceLimit,
        Policy::Fifo { priority } | Policy::Rr { priority } => {
            in_the_way(&FindingId::RtGroupScheduling, findings)
                .or_else(|| in_the_way(&FindingId::RealtimePermission, findings))
                .unwrap_or(PolicyRemedy::RealtimeLimit { priority })
        }
        Policy::Deadline { .. } => PolicyRemedy::DeadlineRights,
    }
}

/// A finding that blocks and says what to type.
fn in_the_way(id: &FindingId, findings: &[Finding]) -> Option<PolicyRemedy> {
    let blocks = |one: &&Finding| &one.id == id && one.verdict == howlate_model::Verdict::Blocks;
    let finding = findings.iter().find(blocks)?;
    let apply = finding.remedy.as_ref()?.apply.clone();
    let (id, found) = (finding.id.clone(), finding.found.clone());
    (!apply.is_empty()).then_some(PolicyRemedy::Finding { id, found, apply })
}

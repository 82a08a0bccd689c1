//! What to do about a refused policy: read the machine before advising.

use howlate_model::{Caveat, Finding, FindingId, Line, Policy, PolicyRemedy};

/// Completes the caveats of a line with what would help.
pub(crate) fn advise(line: &mut Line, findings: &[Finding]) {
    let Line::Started(started) = line else { return };
    for caveat in &mut started.caveats {
        if let Caveat::PolicyRefused { asked, would_help, .. } = caveat {
            *would_help = Some(for_policy(*asked, findings));
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

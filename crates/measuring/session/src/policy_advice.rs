//! Remedies for a refused policy, from the state of the machine.

use howlate_model::{Caveat, Finding, FindingId, Header, Line, Policy, PolicyRemedy};

use crate::deadline_obstacle::DeadlineFacts;

/// Adds remedies to the policy caveats of a line; `threads` run side by side.
pub(crate) fn advise(line: &mut Line, header: &Header, threads: usize) {
    let Line::Started(started) = line else { return };
    for caveat in &mut started.caveats {
        if let Caveat::PolicyRefused { asked, reason, would_help, .. } = caveat {
            *would_help = Some(match asked {
                Policy::Deadline { .. } => {
                    DeadlineFacts::read(&header.system).obstacle(*asked, reason, threads)
                }
                _ => for_policy(*asked, &header.findings),
            });
        }
    }
}

/// What would allow this process to use `policy`.
pub fn for_policy(policy: Policy, findings: &[Finding]) -> PolicyRemedy {
    match policy {
        Policy::Other { .. } | Policy::Batch | Policy::Idle => PolicyRemedy::NiceLimit,
        // Any thread may ask for it, of a kernel that has it.
        Policy::Ext => PolicyRemedy::SchedExtKernel,
        Policy::Fifo { priority } | Policy::Rr { priority } => {
            blocking_finding(&FindingId::RtGroupScheduling, findings)
                .or_else(|| blocking_finding(&FindingId::RealtimePermission, findings))
                .unwrap_or(PolicyRemedy::RealtimeLimit { priority })
        }
        Policy::Deadline { .. } => PolicyRemedy::DeadlineRights,
    }
}

/// A blocking finding with a command that resolves it.
fn blocking_finding(id: &FindingId, findings: &[Finding]) -> Option<PolicyRemedy> {
    let blocks = |finding: &&Finding| &finding.id == id && finding.verdict == howlate_model::Verdict::Blocks;
    let finding = findings.iter().find(blocks)?;
    let apply = finding.remedy.as_ref()?.apply.clone();
    let (id, found) = (finding.id.clone(), finding.found.clone());
    (!apply.is_empty()).then_some(PolicyRemedy::Finding { id, found, apply })
}

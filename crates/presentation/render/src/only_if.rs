//! Preconditions of advice, in sentences.

use howlate_analyse::cause::OnlyIf;
use howlate_model::Finding;

/// The finding and the precondition, without a full stop at the end.
pub(crate) fn with_condition(finding: &Finding, only_if: Option<OnlyIf>) -> String {
    let found = finding.found.clone();
    only_if.map_or_else(|| found.clone(), |only_if| format!("{found}. {}", condition(only_if)))
}

const fn condition(condition: OnlyIf) -> &'static str {
    match condition {
        OnlyIf::LowerPriority => {
            "Against a real-time thread, your priority must be higher than its own (`chrt -p PID` shows it)"
        }
        OnlyIf::NotBound => "This does not help if that thread is bound to this CPU",
        OnlyIf::SameGroup => "It counts among threads of the same session or control group",
        OnlyIf::CpuOfIts => "It helps threads on the CPUs that are named there",
        OnlyIf::OfDevice => {
            "Traffic between programs on this machine is served on the sender's CPU, wherever interrupts are sent"
        }
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{FindingId, Verdict};

    use super::*;

    #[test]
    fn what_advice_depends_on_stands_behind_what_was_found() {
        let (found, why) = ("any real-time priority may be asked for".to_owned(), String::new());
        let (evidence, cost, remedy) = (Vec::new(), None, None);
        let (id, verdict) = (FindingId::RealtimePermission, Verdict::Good);
        let finding = Finding { id, verdict, found, evidence, why, cost, remedy };
        assert_eq!(with_condition(&finding, None), "any real-time priority may be asked for");
        let text = with_condition(&finding, Some(OnlyIf::LowerPriority));
        assert!(
            text.starts_with("any real-time priority may be asked for. Against a real-time thread"),
            "{text}"
        );
        assert!(!text.ends_with('.'), "the sentence goes on: {text}");
    }
}

//! The finding about settings that a killed howlate left changed.

use howlate_model::{Caveat, Evidence, Finding, FindingId, Remedy, Verdict};

/// One finding for all leftovers, with the command that restores them; `None` without leftovers.
pub fn leftover_finding(leftovers: &[Caveat]) -> Option<Finding> {
    let evidence: Vec<Evidence> = leftovers.iter().filter_map(evidence).collect();
    let found = match evidence.len() {
        0 => return None,
        1 => "a howlate that was killed has left a setting changed".to_owned(),
        several => format!("a howlate that was killed has left {several} settings changed"),
    };
    let why = "The process that puts settings back was killed too. The next howlate that measures does so before it begins.";
    Some(Finding {
        id: FindingId::LeftSettings,
        verdict: Verdict::Costs,
        found,
        evidence,
        why: why.to_owned(),
        cost: None,
        remedy: Some(Remedy {
            apply: vec!["howlate tune --restore".to_owned()],
            undo: Vec::new(),
            ..Remedy::default()
        }),
    })
}

fn evidence(caveat: &Caveat) -> Option<Evidence> {
    match caveat {
        Caveat::SettingLeftBehind { path, left, restored } => {
            Some(Evidence { path: path.clone(), value: format!("{left} (it was {restored})") })
        }
        Caveat::GroupLeftBehind { path } => {
            Some(Evidence { path: path.clone(), value: "a control group that was made for a run".to_owned() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_one_finding_with_a_remedy() {
        assert_eq!(leftover_finding(&[]), None);
        let (path, left, restored) = ("/proc/sys/kernel/x".to_owned(), "0".to_owned(), "1".to_owned());
        let setting = Caveat::SettingLeftBehind { path, left, restored };
        let group = Caveat::GroupLeftBehind { path: "/sys/fs/cgroup/howlate".to_owned() };
        let found = leftover_finding(&[setting, group]).unwrap();
        assert!(found.found.contains("2 settings"), "{}", found.found);
        assert_eq!(found.evidence[0].value, "0 (it was 1)");
        assert_eq!(found.remedy.unwrap().apply, ["howlate tune --restore"]);
    }
}

//! Which findings bear on what was measured last.

use howlate_model::Finding;
use howlate_recording::most_recent;
use howlate_render::MeasuredLast;

use crate::commands::reading::{Texts, analysis};

/// `None` where no run was kept, or it cannot be read.
pub(super) fn find(found: &[Finding]) -> Option<MeasuredLast> {
    let analysis = analysis(&most_recent()?, Texts::Legible).ok()?;
    Some(MeasuredLast::new(&analysis, found))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use howlate_analyse::Analysis;
    use howlate_model::{FindingId, Remedy, Verdict};

    use super::*;

    fn recorded() -> Analysis {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/recordings/v1/watch.jsonl");
        analysis(&path, Texts::Legible).unwrap()
    }

    fn finding(id: FindingId, verdict: Verdict) -> Finding {
        let remedy = Some(Remedy { apply: vec!["do it".to_owned()], undo: vec![], ..Remedy::default() });
        let (found, why) = ("found".to_owned(), String::new());
        Finding { id, verdict, found, evidence: vec![], why, cost: None, remedy }
    }

    #[test]
    fn findings_that_bear_on_a_watched_program_are_named_with_their_share() {
        let priority = finding(FindingId::RealtimePermission, Verdict::Good);
        let swap = finding(FindingId::Swap, Verdict::Costs);
        let last = MeasuredLast::new(&recorded(), &[swap, priority]);
        let json = last.json();
        assert_eq!(json["traced"], true);
        let bears_on = json["bears_on"].as_array().unwrap();
        assert!(bears_on.iter().all(|one| one["finding"] == "realtime_permission"), "{json}");
        let share = bears_on[0]["share"].as_f64().unwrap();
        assert!(share > 0.0 && share <= 1.0, "{json}");
        assert!(last.in_words().contains("realtime_permission"), "{}", last.in_words());
        let none = MeasuredLast::new(&recorded(), &[]);
        assert!(
            none.in_words().ends_with("none of these findings had to do with what made its wake-ups late.")
        );
    }
}

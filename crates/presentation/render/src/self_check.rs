//! Results of `howlate selfcheck`.

use howlate_model::{CheckScore, CheckedClass, Detection, HITS_NEEDED, SelfCheck};
use serde::Serialize;

use crate::cause_words::percent;
use crate::numbers::{count, micros};
use crate::prose::wrapped;
use crate::style::{DIM, GOOD, HEADING, WARN, paint};
use crate::table::TextTable;

/// The JSON output. Names are public: add, never rename.
#[derive(Serialize)]
struct SelfCheckDocument<'a> {
    format: u32,
    howlate: &'static str,
    command: &'static str,
    #[serde(flatten)]
    check: &'a SelfCheck,
}

/// The JSON output of `howlate selfcheck`.
pub fn self_check_json(check: &SelfCheck) -> serde_json::Result<String> {
    let document =
        SelfCheckDocument { format: 1, howlate: env!("CARGO_PKG_VERSION"), command: "selfcheck", check };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// A table of the provoked causes, and a line for each that was not provoked.
pub fn self_check(check: &SelfCheck, width: usize) -> String {
    let tracer = check.tracer.as_deref().unwrap_or("none");
    let title = format!("Known causes, provoked on CPU {}, and what tracer {tracer} found", check.cpu);
    let notes: Vec<String> = notes(check).map(|note| wrapped(&note, width, 2)).collect();
    let parts = [
        paint(HEADING, wrapped(&title, width, 0)),
        table(check, width),
        notes.join("\n"),
        paint(DIM, wrapped(&legend(), width, 0)),
    ];
    let sections: Vec<&str> =
        parts.iter().map(|part| part.trim_end()).filter(|part| !part.is_empty()).collect();
    sections.join("\n\n") + "\n"
}

/// Causes that were not provoked or not judged, and tracers that are unavailable.
fn notes(check: &SelfCheck) -> impl Iterator<Item = String> + '_ {
    let warning = |text: String| format!("{} {text}", paint(WARN, "!"));
    let not_provoked = |class: &CheckedClass| {
        let reason = class.reason.as_ref()?;
        Some(format!("{} was not provoked: {reason}.", class.class))
    };
    let of_classes =
        check.classes.iter().filter_map(not_provoked).chain(check.classes.iter().filter_map(not_judged));
    let refused = check.refused.iter().map(|refused| format!("tracer {refused}"));
    let without = check.goes_without.iter().map(|event| format!("this kernel lacks the event {event}."));
    of_classes.chain(refused).chain(without).map(warning)
}

fn table(check: &SelfCheck, width: usize) -> String {
    let headings =
        ["cause", "", "hits", "found", "wrong", "not seen", "error p50", "error p95", "decomposed", "named"];
    let mut table = TextTable::new(&headings.map(str::to_owned), 2);
    let provoked = check.classes.iter().filter_map(|class| Some((class, class.score.as_ref()?)));
    let mut rows = provoked.map(|(class, score)| row(class, score)).peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    rows.for_each(|cells| table.row(cells));
    table.text(width)
}

/// A note on hits that cannot be judged.
fn not_judged(class: &CheckedClass) -> Option<String> {
    let score = class.score.as_ref().filter(|score| score.interrupt_late > 0)?;
    Some(format!(
        "{}: {} of the {} hits are not judged, because the timer interrupt was late for an unknown reason.",
        class.class,
        count(score.interrupt_late),
        count(score.hits)
    ))
}

fn row(class: &CheckedClass, score: &CheckScore) -> Vec<String> {
    let error = |nanos: Option<u64>| {
        nanos.map_or_else(|| "–".to_owned(), |nanos| micros(i64::try_from(nanos).unwrap_or(i64::MAX)))
    };
    vec![
        class.class.to_owned(),
        result_text(class.result),
        count(score.hits),
        if score.judged() == 0 { "–".to_owned() } else { percent(score.share_found()) },
        count(score.blamed_wrongly),
        count(score.not_seen),
        error(score.error_p50_ns),
        error(score.error_p95_ns),
        percent(score.share_decomposed()),
        percent(score.share_named()),
    ]
}

fn result_text(result: Detection) -> String {
    match result {
        Detection::Found => paint(GOOD, "found"),
        Detection::Missed => paint(WARN, "missed"),
        Detection::TooFew => paint(WARN, "too few"),
        Detection::NotMade => String::new(),
    }
}

fn legend() -> String {
    format!(
        "A hit is a wake-up that the cause delayed by 30 µs or more, by its own time stamps. It is found if at least half of that was charged to the right kind, name and process. A class with less than 95 % of its hits found is missed; with fewer than {HITS_NEEDED} hits it is not judged. Error: charged minus stamped, in µs, for hits that were found. Named: the share of their lateness that was charged to a name."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check() -> SelfCheck {
        let score = CheckScore {
            wakeups: 5_000,
            decomposed: 4_990,
            hits: 555,
            found: 500,
            blamed_wrongly: 55,
            error_p50_ns: Some(4_200),
            error_p95_ns: Some(9_000),
            late_ns: 1_000,
            named_ns: 990,
            ..CheckScore::default()
        };
        let classes = vec![
            CheckedClass::from_score("thread", score),
            CheckedClass::not_made("throttled", "no control group".into()),
        ];
        SelfCheck {
            tracer: Some("bpf".into()),
            refused: Vec::new(),
            goes_without: Vec::new(),
            cpu: 1,
            classes,
        }
    }

    #[test]
    fn one_empty_line_is_between_its_parts() {
        let mut check = check();
        for _ in 0..3 {
            let text = anstream::adapter::strip_str(&self_check(&check, 100)).to_string();
            assert!(!text.contains("\n\n\n") && text.contains(".\n") && text.contains("\n\nA hit"), "{text}");
            check.classes.pop();
        }
    }

    #[test]
    fn every_class_is_told() {
        let text = anstream::adapter::strip_str(&self_check(&check(), 100)).to_string();
        assert!(text.contains("thread") && text.contains("missed") && text.contains("90 %"), "{text}");
        assert!(text.contains("throttled was not provoked: no control group."), "{text}");
        assert!(!text.contains("not judged:") && !text.contains("lacks"), "{text}");
        let mut check = check();
        check.goes_without.push("softirq_exit: nobody is blamed".into());
        check.classes[0].score.as_mut().unwrap().interrupt_late = 55;
        let text = anstream::adapter::strip_str(&self_check(&check, 100)).to_string();
        assert!(
            text.contains("! thread: 55 of the 555 hits are not judged, because ") && text.contains("100 %"),
            "{text}"
        );
        assert!(text.contains("! this kernel lacks the event softirq_exit: nobody is blamed."), "{text}");
    }

    #[test]
    fn machines_read_the_same() {
        let json: serde_json::Value = serde_json::from_str(&self_check_json(&check()).unwrap()).unwrap();
        assert_eq!(json["classes"][0]["result"], "missed");
        assert_eq!(
            (json["classes"][0]["found"].as_u64(), json["classes"][0]["hits"].as_u64()),
            (Some(500), Some(555))
        );
        assert_eq!(
            (&json["classes"][1]["result"], &json["classes"][1]["reason"]),
            (&"not_made".into(), &"no control group".into())
        );
        assert!(json["classes"][1]["hits"].is_null());
    }
}

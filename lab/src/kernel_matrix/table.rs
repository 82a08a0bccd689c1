//! Results of the self-check in several kernels, as a table.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// A class with fewer hits is not judged: a single hit would exceed the limits.
const ENOUGH: u64 = 100;
/// Least share of hits that have to be attributed to their cause.
const FOUND: f64 = 0.95;
/// Largest share of hits that may be attributed to another cause by name.
const WRONG: f64 = 0.01;

/// The self check of one tracer in one kernel.
#[derive(Debug, PartialEq)]
pub(super) struct KernelCheck {
    /// Its release, as `uname -r` has it.
    kernel: String,
    tracer: String,
    /// By class; absent if its cause could not be provoked.
    classes: BTreeMap<String, Class>,
}

/// Wake-ups delayed by a provoked cause, and how the tracer attributed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    /// Those that are judged.
    hits: u64,
    found: u64,
    wrong: u64,
    not_seen: u64,
    not_adding_up: u64,
}

impl KernelCheck {
    /// Reads the output of `howlate selfcheck --json`; `None` if it is invalid, or of another tracer.
    pub(super) fn read(kernel: &str, tracer: &str, check: &Value) -> Option<Self> {
        if check["tracer"] != tracer {
            return None;
        }
        let classes = check["classes"].as_array()?;
        let classes =
            classes.iter().filter_map(|class| Some((class["class"].as_str()?.to_owned(), made(class)?)));
        Some(Self { kernel: kernel.to_owned(), tracer: tracer.to_owned(), classes: classes.collect() })
    }

    /// How many classes can be judged.
    pub(super) fn judged_classes(&self) -> usize {
        self.classes.values().filter(|class| class.hits >= ENOUGH).count()
    }

    /// A sentence for each class beyond its limits.
    pub(super) fn failures(&self) -> Vec<String> {
        let judged = self.classes.iter().filter(|(_, class)| class.hits >= ENOUGH);
        let beyond = judged.filter(|(_, class)| !class.holds());
        beyond.map(|(name, class)| format!("{}, {}, {name}: {class}", self.kernel, self.tracer)).collect()
    }
}

fn made(class: &Value) -> Option<Class> {
    let number = |name: &str| class[name].as_u64();
    Some(Class {
        hits: number("hits")?.saturating_sub(number("interrupt_late")?),
        found: number("found")?,
        wrong: number("blamed_wrongly")?,
        not_seen: number("not_seen")?,
        not_adding_up: number("not_adding_up")?,
    })
}

impl Class {
    fn holds(self) -> bool {
        share(self.found, self.hits) >= FOUND
            && share(self.wrong, self.hits) <= WRONG
            && self.not_adding_up == 0
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hits < ENOUGH {
            return write!(f, "too few ({})", self.hits);
        }
        write!(f, "{:.1} %", 100.0 * share(self.found, self.hits))?;
        for (count, what) in
            [(self.wrong, "wrong"), (self.not_seen, "not seen"), (self.not_adding_up, "not adding up")]
        {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        write!(f, " of {}", self.hits)
    }
}

impl fmt::Display for KernelCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Linux {}, tracer {}", self.kernel, self.tracer)?;
        self.classes.iter().try_for_each(|(name, class)| writeln!(f, "  {name}: {class}"))
    }
}

/// A row for each kernel and tracer, a column for each class.
pub(super) fn markdown(checked: &[KernelCheck]) -> String {
    let mut names: Vec<&String> = checked.iter().flat_map(|row| row.classes.keys()).collect();
    names.sort();
    names.dedup();
    let heading: String = names.iter().map(|name| format!(" `{name}` |")).collect();
    let mut text = format!("| kernel, tracer |{heading}\n|{}\n", "---|".repeat(names.len() + 1));
    for row in checked {
        let cell = |name: &&String| row.classes.get(*name).map_or_else(|| "–".to_owned(), Class::to_string);
        let cells: String = names.iter().map(|name| format!(" {} |", cell(name))).collect();
        text += &format!("| {}, `{}` |{cells}\n", row.kernel, row.tracer);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, hits: u64, found: u64, wrong: u64) -> Value {
        serde_json::json!({"class": name, "result": "found", "hits": hits + 5, "interrupt_late": 5, "found": found,
            "blamed_wrongly": wrong, "not_seen": 0, "not_adding_up": 0})
    }

    fn checked(kernel: &str, classes: &[Value]) -> KernelCheck {
        let check = serde_json::json!({"tracer": "bpf", "classes": classes});
        KernelCheck::read(kernel, "bpf", &check).unwrap()
    }

    #[test]
    fn a_class_holds_at_its_limits_and_fails_beyond_them() {
        let failures = |hits, found, wrong| checked("6.1", &[class("thread", hits, found, wrong)]).failures();
        assert!(failures(1_000, 950, 10).is_empty());
        assert_eq!(failures(1_000, 949, 0), ["6.1, bpf, thread: 94.9 % of 1000"]);
        assert_eq!(failures(1_000, 980, 11), ["6.1, bpf, thread: 98.0 %, 11 wrong of 1000"]);
        assert!(failures(99, 0, 0).is_empty(), "too few to tell");
    }

    #[test]
    fn each_kernel_is_a_row_and_what_was_not_made_is_a_dash() {
        let not_made =
            serde_json::json!({"class": "throttled", "result": "not_made", "reason": "no control groups"});
        let all = [
            checked("6.1", &[class("thread", 200, 200, 0), class("throttled", 100, 99, 1)]),
            checked("7.2", &[class("thread", 20, 20, 0), not_made]),
        ];
        let expected = "| kernel, tracer | `thread` | `throttled` |\n|---|---|---|\n\
            | 6.1, `bpf` | 100.0 % of 200 | 99.0 %, 1 wrong of 100 |\n| 7.2, `bpf` | too few (20) | – |\n";
        assert_eq!(markdown(&all), expected);
        assert_eq!([all[0].judged_classes(), all[1].judged_classes()], [2, 0]);
    }

    #[test]
    fn another_tracer_is_no_answer() {
        let check = serde_json::json!({"tracer": "switches", "classes": []});
        assert_eq!(KernelCheck::read("6.1", "bpf", &check), None);
    }
}

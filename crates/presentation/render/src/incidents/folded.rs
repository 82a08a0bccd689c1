//! Late time as folded stacks, one per line, as flame-graph programs read them: victim, kind of wait, part, culprit; and nanoseconds.

use howlate_analyse::incidents::{Frames, late_time_by_stack};

use super::IncidentReport;
use super::wording::way;
use crate::cause_words::who;
use crate::untrusted_text::legible;

impl IncidentReport {
    /// All late time as folded stacks.
    pub fn folded(&self) -> String {
        let all = late_time_by_stack(self.recording.incidents.iter());
        all.iter().map(|(frames, took)| format!("{} {}\n", stack(frames), took.as_nanos())).collect()
    }
}

fn stack(frames: &Frames) -> String {
    let of = frames.of.as_deref().filter(|process| *process != frames.name);
    let cause = [of.map(str::to_owned), Some(who(frames.cause, &frames.name, None))];
    let part = [frames.kind.name(), way(frames.kind, frames.part)].map(str::to_owned);
    let thread = [&frames.process, &frames.thread].map(String::clone);
    let all = thread.into_iter().chain(part).chain(cause.into_iter().flatten());
    all.map(|frame| legible(&frame).replace(';', ":")).collect::<Vec<_>>().join(";")
}

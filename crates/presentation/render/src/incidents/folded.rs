//! Late time as folded stacks, a line each, which flame-graph programs read: who waited, how it came to, on which part of the way, for
//! whom; and nanoseconds.

use howlate_analyse::incidents::{Frames, late_time_by_stack};

use super::Incidents;
use super::words::way;
use crate::cause_words::who;
use crate::untrusted_text::legible;

impl Incidents {
    /// All late time as folded stacks.
    pub fn folded(&self) -> String {
        let all = late_time_by_stack(self.kept.incidents.iter());
        all.iter().map(|(frames, took)| format!("{} {}\n", stack(frames), took.as_nanos())).collect()
    }
}

fn stack(frames: &Frames) -> String {
    let of = frames.of.as_deref().filter(|of| *of != frames.name);
    let cause = [of.map(str::to_owned), Some(who(frames.cause, &frames.name, None))];
    let way = [frames.kind.name(), way(frames.kind, frames.part)].map(str::to_owned);
    let thread = [&frames.process, &frames.thread].map(String::clone);
    let all = thread.into_iter().chain(way).chain(cause.into_iter().flatten());
    all.map(|frame| legible(&frame).replace(';', ":")).collect::<Vec<_>>().join(";")
}

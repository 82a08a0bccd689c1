//! The result of `howlate load`.

use howlate_analyse::LoadEffect;
use howlate_model::{Load, PartEffect, Span};
use serde::Serialize;

use crate::loads::{of_part, whole_machine};
use crate::numbers::rough;
use crate::prose::wrapped;
use crate::style::{HEADING, WARN, paint};

/// What a load did that was applied by itself. Names are public: add, never rename.
#[derive(Clone, Debug, Serialize)]
pub struct LoadResult {
    format: u32,
    howlate: &'static str,
    command: &'static str,
    /// The load, as typed.
    pub load: String,
    /// What it did.
    #[serde(flatten)]
    pub effect: LoadEffect,
    /// Parts that ended by themselves.
    pub ended: Vec<PartEnd>,
    /// What was not as it should be.
    pub notes: Vec<String>,
}

/// A part of a load that ended by itself.
#[derive(Clone, Debug, Serialize)]
pub struct PartEnd {
    /// The part, as typed.
    pub part: String,
    /// What it said last, or how it ended.
    pub words: String,
    /// How long it took, when it did all that it had to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ns: Option<Span>,
}

impl LoadResult {
    /// Before anything was done.
    pub fn new(load: &Load, notes: Vec<String>) -> Self {
        Self {
            format: 1,
            howlate: env!("CARGO_PKG_VERSION"),
            command: "load",
            load: load.to_string(),
            effect: LoadEffect { context_switches: Some(0), interrupts: Some(0), ..LoadEffect::default() },
            ended: Vec::new(),
            notes,
        }
    }

    /// Adds what was done in a further stretch.
    pub fn add(&mut self, effect: &LoadEffect) {
        self.effect.add(effect);
    }

    /// Parts that are done show all that they did, what came before the first sample included.
    pub fn set_totals(&mut self, totals: &[PartEffect]) {
        let is_done =
            |part: &PartEffect| self.ended.iter().any(|end| end.part == part.part && end.took_ns.is_some());
        for (part, total) in self.effect.parts.iter_mut().zip(totals).filter(|(part, _)| is_done(part)) {
            part.clone_from(total);
        }
    }

    /// Whether a part ended that had more to do.
    pub fn has_failed(&self) -> bool {
        self.ended.iter().any(|end| end.took_ns.is_none())
    }

    /// The whole result as one object.
    pub fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// A few lines.
    pub fn text(&self, width: usize) -> String {
        let title = format!("{} for {}", paint(HEADING, &self.load), rough(self.effect.elapsed));
        let mut lines = vec![title];
        lines.extend(self.effect.parts.iter().map(|part| format!("  {}", of_part(part, &self.effect))));
        lines.extend(whole_machine(&self.effect).map(|machine| format!("  {machine}")));
        lines.extend(self.ended.iter().map(|end| wrapped(&ended(end), width, 2)));
        lines
            .extend(self.notes.iter().map(|note| wrapped(&format!("{} {note}", paint(WARN, "!")), width, 2)));
        lines.join("\n") + "\n"
    }
}

fn ended(end: &PartEnd) -> String {
    match end.took_ns {
        Some(took) => format!("{} was done after {:.3} s", end.part, took.as_secs_f64()),
        None => format!("{} {} ended by itself: {}", paint(WARN, "!"), end.part, end.words),
    }
}

//! The result of `howlate load`.

use howlate_analyse::LoadEffect;
use howlate_model::{Load, PartEffect, Span};
use serde::Serialize;

use crate::loads::{part_effect, whole_machine};
use crate::numbers::rough;
use crate::prose::wrapped;
use crate::style::{HEADING, WARN, paint};

/// Result of `howlate load`. Names are public: add, never rename.
#[derive(Clone, Debug, Serialize)]
pub struct LoadResult {
    format: u32,
    howlate: &'static str,
    command: &'static str,
    /// The load as given on the command line.
    pub load: String,
    /// Work that was done.
    #[serde(flatten)]
    pub effect: LoadEffect,
    /// Parts of the load that ended by themselves.
    pub ended: Vec<PartEnd>,
    /// Warnings.
    pub notes: Vec<String>,
}

/// A part of a load that ended by itself.
#[derive(Clone, Debug, Serialize)]
pub struct PartEnd {
    /// The part as given on the command line.
    pub part: String,
    /// Its last output, or how it ended.
    pub words: String,
    /// Its duration, if it completed its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ns: Option<Span>,
}

impl LoadResult {
    /// The state before the start.
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

    /// Adds the work of another interval.
    pub fn add(&mut self, effect: &LoadEffect) {
        self.effect.add(effect);
    }

    /// Replaces the effects of completed parts by their totals, which include the time before the first sample.
    pub fn set_totals(&mut self, totals: &[PartEffect]) {
        let is_done =
            |part: &PartEffect| self.ended.iter().any(|end| end.part == part.part && end.took_ns.is_some());
        for (part, total) in self.effect.parts.iter_mut().zip(totals).filter(|(part, _)| is_done(part)) {
            part.clone_from(total);
        }
    }

    /// Whether a part ended before it completed its work.
    pub fn has_failed(&self) -> bool {
        self.ended.iter().any(|end| end.took_ns.is_none())
    }

    pub fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub fn text(&self, width: usize) -> String {
        let title = format!("{} for {}", paint(HEADING, &self.load), rough(self.effect.elapsed));
        let mut lines = vec![title];
        lines.extend(self.effect.parts.iter().map(|part| format!("  {}", part_effect(part, &self.effect))));
        lines.extend(whole_machine(&self.effect).map(|machine| format!("  {machine}")));
        lines.extend(self.ended.iter().map(|end| wrapped(&end_line(end), width, 2)));
        lines
            .extend(self.notes.iter().map(|note| wrapped(&format!("{} {note}", paint(WARN, "!")), width, 2)));
        lines.join("\n") + "\n"
    }
}

fn end_line(end: &PartEnd) -> String {
    match end.took_ns {
        Some(took) => format!("{} was done after {:.3} s", end.part, took.as_secs_f64()),
        None => format!("{} {} ended by itself: {}", paint(WARN, "!"), end.part, end.words),
    }
}

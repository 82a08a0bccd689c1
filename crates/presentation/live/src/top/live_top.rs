//! The table of waits on the whole screen.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_analyse::waits::Order;
use howlate_model::Span;
use howlate_render::{Top, TopBy, TopView};

use super::content::{Seen, TopContent, column_of};
use crate::choices::Choices;
use crate::paint_thread::View;
use crate::terminal::Unsuitable;

/// So many looks are remembered of each wait.
const REMEMBERED: usize = 240;

/// Shows what processes wait for on the whole screen.
pub struct LiveTop {
    view: View,
    wanted: TopView,
    every: Span,
    machine: String,
    histories: HashMap<u64, Vec<Seen>>,
    looks: u64,
}

impl LiveTop {
    /// Takes the terminal, of which `machine` is said at the top, and shows what is `wanted` at first, each look taking `every`;
    /// `interrupted` is set when a key asks for the end.
    ///
    /// # Errors
    ///
    /// When the terminal will not do, or there is no thread to be had.
    pub fn begin(
        interrupted: &Arc<AtomicBool>,
        wanted: TopView,
        every: Span,
        machine: String,
    ) -> Result<Self, Unsuitable> {
        let mut choices = Choices::new();
        choices.sort = column_of(wanted.order);
        choices.by = TopBy::ALL.iter().position(|by| *by == wanted.by).unwrap_or(0);
        choices.idle = !wanted.kinds.is_empty() || wanted.process.is_some();
        let view = View::begin(interrupted, choices)?;
        let wanted = TopView { order: Order::HeldUp, filter: String::new(), ..wanted };
        Ok(Self { view, wanted, every, machine, histories: HashMap::new(), looks: 0 })
    }

    /// Shows another look.
    pub fn show(&mut self, top: Top) {
        self.looks += 1;
        for by in TopBy::ALL {
            for row in top.rows(&TopView { by, ..self.wanted.clone() }, true) {
                let seen = self.histories.entry(row.key).or_default();
                seen.push(Seen {
                    look: self.looks,
                    mean: row.sum.mean(),
                    longest: row.sum.longest.max(row.sum.time.min(top.lasted)),
                });
                if seen.len() > REMEMBERED {
                    seen.remove(0);
                }
            }
        }
        let oldest = self.looks.saturating_sub(REMEMBERED as u64);
        self.histories.retain(|_, seen| seen.last().is_some_and(|last| last.look > oldest));
        let content = TopContent {
            top,
            wanted: self.wanted.clone(),
            every: self.every,
            machine: self.machine.clone(),
            looks: self.looks,
            histories: self.histories.clone(),
        };
        self.view.show(Box::new(content), None);
    }

    /// Gives the terminal back.
    pub fn end(&mut self) {
        self.view.end();
    }
}

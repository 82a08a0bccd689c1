//! The live view: a full screen that shows the measurement while it runs.
//!
//! A `Screenful` is made by the same analysis that prints the final result, and the painters in `panels/` turn it into cells
//! without any input or output of their own. Only `terminal/` writes to the alternate screen.

mod choices;
mod keys;
mod paint_thread;
mod panels;
mod record;
mod run;
mod screenful;
mod symbols;
mod terminal;
mod theme;
mod top;

pub use record::LiveRecord;
pub use run::LiveRun;
pub use symbols::may_show_unicode;
pub use terminal::UnsuitableTerminal;
pub use top::LiveTop;

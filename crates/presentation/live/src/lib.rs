//! The live view: a whole screen of what is measured, while it is measured.
//!
//! Everything that is shown is a value first: a `Screenful` is made from the same analysis that prints the end result, and the painters
//! in `panels/` turn it into cells. Nothing in them reads a clock, a file or the terminal. `terminal/` is the one place that writes the
//! alternate screen.

mod choices;
mod keys;
mod locale;
mod paint_thread;
mod panels;
mod record;
mod run;
mod screenful;
mod symbols;
mod terminal;
mod theme;
mod top;

pub use locale::may_show_unicode;
pub use record::LiveRecord;
pub use run::LiveRun;
pub use terminal::Unsuitable;
pub use top::LiveTop;

//! `--debug` and `HOWLATE_LOG`: which tracers were tried, what the kernel refused, which files were read and written, on standard
//! error, each line with the seconds since the start.

use std::sync::OnceLock;

use howlate_linux::clock;
use howlate_model::MonotonicTime;
use howlate_render::legible;
use log::{LevelFilter, Log, Metadata, Record};

use crate::terminal;

/// What `--debug` is short for, as a variable for commands that take no options of ours (`howlate cyclictest`) and for services.
pub(crate) const VARIABLE: &str = "HOWLATE_LOG";

static LOG: StandardError = StandardError { started: OnceLock::new() };

struct StandardError {
    started: OnceLock<MonotonicTime>,
}

/// Begins to log as the variable says; `debug`: at least what is of use in a bug report.
pub(crate) fn begin(debug: bool) {
    let asked = std::env::var(VARIABLE).unwrap_or_default();
    let named = if asked.is_empty() { LevelFilter::Off } else { level(&asked) };
    let level = if debug { named.max(LevelFilter::Debug) } else { named };
    LOG.started.get_or_init(clock::now);
    // A second logger is refused: the first goes on.
    if level > log::max_level() {
        drop(log::set_logger(&LOG));
        log::set_max_level(level);
        log::debug!("howlate {} as {}", env!("CARGO_PKG_VERSION"), user());
    }
}

/// A level by its name; what is none of them is said, and means `debug`.
fn level(name: &str) -> LevelFilter {
    name.parse().unwrap_or_else(|_| {
        let names: Vec<String> = LevelFilter::iter().map(|level| level.as_str().to_lowercase()).collect();
        terminal::tell(&format!("{VARIABLE}={}: a level is one of {}\n", legible(name), names.join(", ")));
        LevelFilter::Debug
    })
}

/// Whether this process is root's: no name, which is nobody's business.
pub(crate) fn user() -> &'static str {
    if rustix::process::geteuid().is_root() { "root" } else { "an ordinary user" }
}

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // What libraries say is of use to few, and much.
        let is_ours = metadata.target().starts_with("howlate");
        metadata.level() <= log::max_level() && (is_ours || log::max_level() == LevelFilter::Trace)
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let seconds =
                self.started.get().map_or(0.0, |started| clock::now().since(*started).as_secs_f64());
            let target = record.target().trim_start_matches("howlate_");
            terminal::say(&format!("[{seconds:9.6} {target}] {}\n", legible(&record.args().to_string())));
        }
    }

    fn flush(&self) {}
}

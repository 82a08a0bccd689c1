//! `--debug` and `HOWLATE_LOG`: tracers that were tried, refusals of the kernel, and files read and written, logged on standard error
//! with the seconds since the start.

use std::sync::OnceLock;

use howlate_linux::clock;
use howlate_model::MonotonicTime;
use howlate_render::legible;
use log::{LevelFilter, Log, Metadata, Record};

use crate::terminal;

/// Equivalent of `--debug` for services, and for commands without howlate's options (`howlate cyclictest`).
pub(crate) const VARIABLE: &str = "HOWLATE_LOG";

static LOG: StandardError = StandardError { started: OnceLock::new() };

struct StandardError {
    started: OnceLock<MonotonicTime>,
}

/// Starts logging at the level of the variable; with `debug` at level `debug` at least.
pub(crate) fn begin(debug: bool) {
    let from_environment = std::env::var(VARIABLE).unwrap_or_default();
    let named = if from_environment.is_empty() { LevelFilter::Off } else { level(&from_environment) };
    let level = if debug { named.max(LevelFilter::Debug) } else { named };
    LOG.started.get_or_init(clock::now);
    // A second call only changes the level: the logger can be set once.
    if level > log::max_level() {
        drop(log::set_logger(&LOG));
        log::set_max_level(level);
        log::debug!("howlate {} as {}", env!("CARGO_PKG_VERSION"), user());
    }
}

/// A level by its name; `debug`, with a message, for an unknown name.
fn level(name: &str) -> LevelFilter {
    name.parse().unwrap_or_else(|_| {
        let names: Vec<String> = LevelFilter::iter().map(|level| level.as_str().to_lowercase()).collect();
        terminal::eprint_wrapped(&format!(
            "{VARIABLE}={}: a level is one of {}\n",
            legible(name),
            names.join(", ")
        ));
        LevelFilter::Debug
    })
}

/// Root or not; names of users are private.
pub(crate) fn user() -> &'static str {
    if rustix::process::geteuid().is_root() { "root" } else { "an ordinary user" }
}

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Messages of libraries are many, and only shown at level `trace`.
        let is_ours = metadata.target().starts_with("howlate");
        metadata.level() <= log::max_level() && (is_ours || log::max_level() == LevelFilter::Trace)
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let seconds =
                self.started.get().map_or(0.0, |started| clock::now().since(*started).as_secs_f64());
            let target = record.target().trim_start_matches("howlate_");
            terminal::eprint(&format!("[{seconds:9.6} {target}] {}\n", legible(&record.args().to_string())));
        }
    }

    fn flush(&self) {}
}

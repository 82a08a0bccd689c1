//! What is known before a plan is made: the machine, the instrument, the signals.

use std::cell::RefCell;
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_guard::{Guard, Wanted};
use howlate_measure::measure_instrument;
use howlate_model::{Caveat, Finding, Instrument, Setting, Sleeper, Span, System};
use howlate_plan::Machine;
use howlate_probe::Probes;
use howlate_system::{Root, describe, examine};

use crate::error::Error;
use crate::terminal::{InPlace, is_watched};

/// What is known before a plan is made.
pub(crate) struct Surroundings {
    /// Set by Ctrl-C, `SIGTERM` and `SIGHUP`.
    pub(crate) interrupted: Arc<AtomicBool>,
    pub(crate) system: System,
    pub(crate) findings: Vec<Finding>,
    pub(crate) instrument: Instrument,
    /// Settings of the machine that were changed for the run.
    pub(crate) settings: Vec<Setting>,
    /// Those that could not be.
    pub(crate) unsettled: Vec<Caveat>,
    /// Programs of language runtimes that were asked for.
    pub(crate) probes: RefCell<Probes>,
}

impl Surroundings {
    /// Listens for signals first, so that none ends the program without a word, then looks.
    pub(crate) fn begin() -> Result<Self, Error> {
        let interrupted = on_interrupt()?;
        Ok(Self { interrupted, ..Self::look() })
    }

    /// The same with settings of the machine changed before it is looked at. They are put back
    /// when the guard is ended or dropped, or the process killed.
    pub(crate) fn begin_with(wanted: &[Wanted]) -> Result<(Self, Guard), Error> {
        let interrupted = on_interrupt()?;
        let mut guard = Guard::set(wanted);
        let (settings, unsettled) = (take(&mut guard.settings), take(&mut guard.caveats));
        Ok((Self { interrupted, settings, unsettled, ..Self::look() }, guard))
    }

    /// Looks at the machine and at the instrument.
    pub(crate) fn look() -> Self {
        let root = Root::live();
        let (system, findings) = (describe(&root), examine(&root));
        let (settings, unsettled, probes) = (Vec::new(), Vec::new(), RefCell::default());
        let instrument = measure_instrument();
        Self { interrupted: Arc::default(), system, findings, instrument, settings, unsettled, probes }
    }

    /// Prepares the programs of those `sleepers` that are language runtimes, which may take a while the first time.
    pub(crate) fn prepare(&self, sleepers: &[Sleeper], quiet: bool) {
        let mut place = (!quiet && is_watched()).then(InPlace::default);
        let runtimes = sleepers.iter().filter_map(|one| one.runtime());
        self.probes.borrow_mut().prepare(runtimes, &self.interrupted, |doing| {
            if let Some(place) = &mut place {
                place.show(doing);
            }
        });
        if let Some(place) = &mut place {
            place.clear();
        }
    }

    /// What plans must know.
    pub(crate) fn machine(&self) -> Machine {
        Machine {
            allowed: self.system.allowed.clone(),
            kernel: self.system.kernel.clone(),
            // A guest that a measurement locks up is ended from outside, and no one else's work is in it.
            wait: if howlate_guest::is_inside() { Span::ZERO } else { self.instrument.wait_ns },
            missing: self.probes.borrow().missing(),
        }
    }
}

/// Set by Ctrl-C, `SIGTERM` and a closed terminal; a second signal ends the program at once.
pub(crate) fn on_interrupt() -> Result<Arc<AtomicBool>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let hangup = (!hangup_is_ignored()).then_some(signal_hook::consts::SIGHUP);
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM].into_iter().chain(hangup) {
        // Armed by the first signal, so it acts on the second.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Whether whoever started this, such as `nohup`, wants it to outlive its terminal.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored & (1 << (signal_hook::consts::SIGHUP - 1)) != 0
}

//! What is known before a plan is made: the machine, the instrument, the signals.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_guard::{Applied, Guard, Wanted, put_back_leftovers};
use howlate_linux::interrupt::on_request_to_end;
use howlate_linux::sched;
use howlate_measure::measure_instrument;
use howlate_model::{Caveat, Finding, Instrument, Node, Runtime, Setting, Sleeper, Span, System};
use howlate_plan::Machine;
use howlate_procfs::{Root, Status};
use howlate_runtimes::Probes;
use howlate_system::{describe, examine, node};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::Error;
use crate::snapshot_file;
use crate::terminal::{InPlace, is_watched};

/// What is known before a plan is made.
pub(crate) struct Environment {
    /// Set by Ctrl-C, `SIGTERM` and `SIGHUP`.
    pub(crate) interrupted: Arc<AtomicBool>,
    /// Which machine this is.
    pub(crate) node: Node,
    pub(crate) system: System,
    pub(crate) findings: Vec<Finding>,
    pub(crate) instrument: Instrument,
    /// Settings of the machine that were changed for the run.
    pub(crate) settings: Vec<Setting>,
    /// Those that could not be.
    pub(crate) refused: Vec<Caveat>,
    /// Programs of language runtimes that were asked for.
    pub(crate) probes: RefCell<Probes>,
    /// What puts the settings back, at the latest when this is dropped.
    applied: RefCell<Option<Applied>>,
}

impl Environment {
    /// Listens for signals first, so that none ends the program without a word, then looks.
    pub(crate) fn begin() -> Result<Self, Error> {
        let interrupted = on_interrupt()?;
        let refused = clear_up();
        Ok(Self { interrupted, refused, ..Self::read() })
    }

    /// The same with settings of the machine changed before it is looked at. They are put back by
    /// [`put_back`](Self::put_back), when this is dropped, or when the process is killed.
    pub(crate) fn begin_with(wanted: &[Wanted]) -> Result<Self, Error> {
        let interrupted = on_interrupt()?;
        let mut refused = clear_up();
        let applied = Guard::default().apply(wanted);
        refused.extend(applied.caveats.iter().cloned());
        let settings = applied.settings.clone();
        let applied = RefCell::new(Some(applied));
        Ok(Self { interrupted, settings, refused, applied, ..Self::read() })
    }

    /// Puts the settings back; tells what could not be, and what somebody else changed meanwhile.
    pub(crate) fn put_back(&self) -> Vec<Caveat> {
        self.applied.take().map(Applied::undo).unwrap_or_default()
    }

    /// Looks at the machine and at the instrument.
    pub(crate) fn read() -> Self {
        let root = Root::live();
        let (system, findings) = (describe_live(&root), examine(&root));
        let (settings, refused, probes) = (Vec::new(), Vec::new(), RefCell::default());
        let instrument = measure_instrument();
        let (interrupted, applied) = (Arc::default(), RefCell::default());
        Self {
            interrupted,
            node: node(&root),
            system,
            findings,
            instrument,
            settings,
            refused,
            probes,
            applied,
        }
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

    /// The runtimes that this machine lacks, each with the reason and what would help.
    fn missing_runtimes(&self) -> Vec<(Runtime, String)> {
        let missing = self.probes.borrow().missing();
        missing.into_iter().map(|(runtime, reason)| (runtime, reason.to_string())).collect()
    }

    /// What plans must know.
    pub(crate) fn machine(&self) -> Machine {
        Machine {
            allowed: self.system.allowed.clone(),
            bindable: self.system.can_bind().clone(),
            isolated: self.system.isolated_to_bind(),
            kernel: self.system.kernel.clone(),
            // A guest that a measurement locks up is ended from outside, and no one else's work is in it.
            wait: if howlate_guest::is_inside() { Span::ZERO } else { self.instrument.wait_ns },
            missing: self.missing_runtimes(),
        }
    }
}

/// Describes this machine. Where threads can be bound to stands in no file: the kernel is asked.
fn describe_live(root: &Root) -> System {
    let bindable = sched::bindable().or_else(|_| sched::affinity()).unwrap_or_default();
    System { bindable, ..describe(root) }
}

/// Removes what killed howlates have left, and puts their settings back; tells which.
pub(crate) fn clear_up() -> Vec<Caveat> {
    howlate_safe_path::sweep(&std::env::temp_dir());
    snapshot_file::sweep(Path::new(snapshot_file::FOLDER));
    howlate_trace::clear_up();
    put_back_leftovers()
}

/// What a shell makes of a program that Ctrl-C ends.
const INTERRUPTED_TWICE: i32 = 130;

/// Set by Ctrl-C, `SIGTERM` and a closed terminal; another request, a second or more later, ends the
/// program at once. What was recorded until then stays.
pub(crate) fn on_interrupt() -> Result<Arc<AtomicBool>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    // Whoever started this, such as `nohup`, may want it to outlive its terminal.
    let ignored = Status::read(&Root::live()).ignores(SIGHUP);
    let hangup = (!ignored).then_some(SIGHUP);
    let signals: Vec<i32> = [SIGINT, SIGTERM].into_iter().chain(hangup).collect();
    on_request_to_end(&signals, &interrupted, INTERRUPTED_TWICE)?;
    Ok(interrupted)
}

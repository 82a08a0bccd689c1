//! What is known before a plan is made: the machine, and the instrument.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_guard::{AppliedSettings, Guard, SettingRequest};
use howlate_linux::{clock, sched};
use howlate_measure::measure_instrument;
use howlate_model::{
    AsText, Caveat, CombinationRefusal, Finding, Instrument, Node, Runtime, Setting, Sleeper, Span, System,
    WaitClock,
};
use howlate_plan::PlanMachine;
use howlate_procfs::Root;
use howlate_runtimes::Probes;
use howlate_system::{describe, examine, node};

/// What is known before a plan is made.
pub struct Environment {
    /// Set by Ctrl-C, `SIGTERM` and `SIGHUP`.
    pub interrupted: Arc<AtomicBool>,
    /// Set by whoever wants what all CPUs have done just now, where that is remembered.
    pub timeline_asked: Arc<AtomicBool>,
    /// Which machine this is.
    pub node: Node,
    /// What it is.
    pub system: System,
    /// What on it makes wake-ups late.
    pub findings: Vec<Finding>,
    /// What measuring costs here.
    pub instrument: Instrument,
    /// Settings of the machine that were changed for the run.
    pub settings: Vec<Setting>,
    /// Those that could not be.
    pub refused: Vec<Caveat>,
    /// Programs of language runtimes that were asked for.
    pub probes: RefCell<Probes>,
    /// What puts the settings back, at the latest when this is dropped.
    applied: RefCell<Option<AppliedSettings>>,
}

impl Environment {
    /// Looks. `interrupted` is set when it is to end; `found` is to be said whatever comes of it.
    pub fn begin(interrupted: Arc<AtomicBool>, found: Vec<Caveat>) -> Self {
        Self { interrupted, refused: found, ..Self::read() }
    }

    /// The same with settings of the machine changed before it is looked at. They are put back by
    /// [`put_back`](Self::put_back), when this is dropped, or when the process is killed.
    pub fn begin_with(wanted: &[SettingRequest], interrupted: Arc<AtomicBool>, found: Vec<Caveat>) -> Self {
        let applied = Guard::default().apply(wanted);
        let refused = found.into_iter().chain(applied.caveats.iter().cloned()).collect();
        let settings = applied.settings.clone();
        let applied = RefCell::new(Some(applied));
        Self { interrupted, settings, refused, applied, ..Self::read() }
    }

    /// Puts the settings back; tells what could not be, and what somebody else changed meanwhile.
    pub fn put_back(&self) -> Vec<Caveat> {
        self.applied.take().map(AppliedSettings::undo).unwrap_or_default()
    }

    /// Looks at the machine and at the instrument.
    pub fn read() -> Self {
        let root = Root::live();
        log::debug!("looking at the machine");
        let (system, findings) = (describe_live(&root), examine(&root));
        let (settings, refused, probes) = (Vec::new(), Vec::new(), RefCell::default());
        log::debug!("measuring the instrument");
        let instrument = measure_instrument();
        log::debug!("instrument: {instrument:?}");
        let (interrupted, timeline_asked, applied) = (Arc::default(), Arc::default(), RefCell::default());
        Self {
            interrupted,
            timeline_asked,
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

    /// Prepares the programs of those `sleepers` that are language runtimes, which may take a while the first time; `doing`
    /// is told of it.
    pub fn prepare(&self, sleepers: &[Sleeper], doing: impl FnMut(&str)) {
        let runtimes = sleepers.iter().filter_map(|one| one.runtime());
        self.probes.borrow_mut().prepare(runtimes, &self.interrupted, doing);
    }

    /// The runtimes that this machine lacks, each with the reason and what would help.
    fn missing_runtimes(&self) -> Vec<(Runtime, AsText<CombinationRefusal>)> {
        let missing = self.probes.borrow().missing();
        missing.into_iter().map(|(runtime, reason)| (runtime, AsText::Text(reason.to_string()))).collect()
    }

    /// What plans must know.
    pub fn machine(&self) -> PlanMachine {
        PlanMachine {
            allowed: self.system.allowed.clone(),
            bindable: self.system.can_bind().clone(),
            isolated: self.system.isolated_to_bind(),
            kernel: self.system.kernel.clone(),
            // A guest that a measurement locks up is ended from outside, and no one else's work is in it.
            wait: if howlate_guest::is_inside() { Span::ZERO } else { self.instrument.wait },
            clocks: WaitClock::all().filter(|one| clock::exists(*one)).collect(),
            missing: self.missing_runtimes(),
        }
    }
}

/// Describes this machine. Where threads can be bound to stands in no file: the kernel is asked. So it is where they may run, if
/// there is no `/proc`.
fn describe_live(root: &Root) -> System {
    let bindable = sched::bindable_cpus().or_else(|_| sched::affinity()).unwrap_or_default();
    let described = describe(root);
    let allowed = Some(described.allowed.clone()).filter(|cpus| !cpus.is_empty());
    let allowed = allowed.or_else(|| sched::affinity().ok()).unwrap_or_default();
    System { bindable, allowed, ..described }
}

//! Facts that a plan depends on: the machine and the cost of measuring.

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

/// Facts that a plan depends on.
pub struct Environment {
    /// Set by Ctrl-C, `SIGTERM` and `SIGHUP`.
    pub interrupted: Arc<AtomicBool>,
    /// Set to request a timeline of the last seconds of all CPUs.
    pub timeline_asked: Arc<AtomicBool>,
    /// Identity of the machine.
    pub node: Node,
    /// Description of the machine.
    pub system: System,
    /// Findings about settings that make wake-ups late.
    pub findings: Vec<Finding>,
    /// Cost of measuring on this machine.
    pub instrument: Instrument,
    /// Machine settings that were changed for the run.
    pub settings: Vec<Setting>,
    /// Caveats about settings that were not changed.
    pub refused: Vec<Caveat>,
    /// Probe programs of the requested language runtimes.
    pub probes: RefCell<Probes>,
    /// Restores the settings, when dropped at the latest.
    applied: RefCell<Option<AppliedSettings>>,
}

impl Environment {
    /// Reads the environment. `found` is added to its caveats.
    pub fn begin(interrupted: Arc<AtomicBool>, initial_caveats: Vec<Caveat>) -> Self {
        Self { interrupted, refused: initial_caveats, ..Self::read() }
    }

    /// Reads the environment, but does not look for what makes wake-ups late.
    pub fn begin_without_findings(interrupted: Arc<AtomicBool>, initial_caveats: Vec<Caveat>) -> Self {
        Self { interrupted, refused: initial_caveats, ..Self::read_with(|_| Vec::new()) }
    }

    /// Changes machine settings and then reads the environment. The settings are restored by
    /// [`put_back`](Self::put_back), when the environment is dropped, or when the process is killed.
    pub fn begin_with(
        requests: &[SettingRequest],
        interrupted: Arc<AtomicBool>,
        initial_caveats: Vec<Caveat>,
    ) -> Self {
        let applied = Guard::default().apply(requests);
        let refused = initial_caveats.into_iter().chain(applied.caveats.iter().cloned()).collect();
        let settings = applied.settings.clone();
        let applied = RefCell::new(Some(applied));
        Self { interrupted, settings, refused, applied, ..Self::read() }
    }

    /// Restores the settings; returns caveats about those that were not restored, or that another process has changed.
    pub fn put_back(&self) -> Vec<Caveat> {
        self.applied.take().map(AppliedSettings::undo).unwrap_or_default()
    }

    /// Reads the machine and the instrument.
    pub fn read() -> Self {
        Self::read_with(examine)
    }

    fn read_with(find: impl FnOnce(&Root) -> Vec<Finding>) -> Self {
        let root = Root::live();
        log::debug!("looking at the machine");
        let (system, findings) = (describe_live(&root), find(&root));
        let (settings, refused, probes) = (Vec::new(), Vec::new(), RefCell::default());
        log::debug!("measuring the instrument");
        let instrument = measure_instrument();
        log::debug!(
            "a clock reading takes {}, a pass of the loop {}, a wait {}",
            instrument.clock_read,
            instrument.loop_cost,
            instrument.wait
        );
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

    /// Prepares the probe programs of those `sleepers` that are language runtimes. The first time may take long; `doing` is
    /// called with the current step.
    pub fn prepare(&self, sleepers: &[Sleeper], doing: impl FnMut(&str)) {
        let runtimes = sleepers.iter().filter_map(|sleeper| sleeper.runtime());
        self.probes.borrow_mut().prepare(runtimes, &self.interrupted, doing);
    }

    /// Missing runtimes, each with reason and remedy.
    fn missing_runtimes(&self) -> Vec<(Runtime, AsText<CombinationRefusal>)> {
        let missing = self.probes.borrow().missing();
        missing.into_iter().map(|(runtime, reason)| (runtime, AsText::Text(reason.to_string()))).collect()
    }

    /// The machine, as a plan needs it.
    pub fn machine(&self) -> PlanMachine {
        PlanMachine {
            allowed: self.system.allowed.clone(),
            bindable: self.system.can_bind().clone(),
            isolated: self.system.isolated_to_bind(),
            kernel: self.system.kernel.clone(),
            // A guest that a measurement locks up is ended from outside, and no one else's work is in it.
            wait: if howlate_guest::is_inside() { Span::ZERO } else { self.instrument.wait },
            clocks: WaitClock::all().filter(|clock| clock::exists(*clock)).collect(),
            missing: self.missing_runtimes(),
        }
    }
}

/// Describes this machine. No file lists the CPUs that threads can be bound to, so the kernel is asked; without `/proc`, it is
/// also asked for the allowed CPUs.
fn describe_live(root: &Root) -> System {
    let bindable = sched::bindable_cpus().or_else(|_| sched::affinity()).unwrap_or_default();
    let described = describe(root);
    let allowed = Some(described.allowed.clone()).filter(|cpus| !cpus.is_empty());
    let allowed = allowed.or_else(|| sched::affinity().ok()).unwrap_or_default();
    System { bindable, allowed, ..described }
}

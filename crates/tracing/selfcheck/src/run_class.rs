//! Injects one class of causes while the tracer runs.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_analyse::cause::Joiner;
use howlate_guard::{Guard, QuotaCgroup};
use howlate_linux::clock;
use howlate_model::{CheckScore, InjectedCause, MonotonicTime, Span};
use howlate_procfs::{Cgroup, CpuCgroups, Root, SELF};
use howlate_trace::{Choice, Tracer, open};

use crate::inject::{CauseClass, HelperProcess, HelperRole, HelperTask, InjectorReport};
use crate::score::score;

/// Time for the kernel to settle after its code was patched.
const SETTLING: Span = Span::from_millis(20);

/// How often the tracer is read.
const READ_EVERY: Span = Span::from_millis(20);
/// Time for all helpers to get ready after they got the start time.
const START_AFTER: Span = Span::from_millis(50);
/// How much longer than planned they may take on a busy machine.
const PATIENCE: Span = Span::from_secs(10);

/// One class of causes to inject.
pub(crate) struct ClassRun<'a> {
    pub(crate) class: CauseClass,
    pub(crate) cpu: u32,
    pub(crate) lasts: Span,
    pub(crate) tracer: Choice,
    pub(crate) interrupted: &'a AtomicBool,
}

/// The helper processes of one class. They are dropped before the cgroup that they are in.
struct HelperProcesses {
    measured: HelperProcess,
    injectors: Vec<HelperProcess>,
    quota: Option<QuotaGroup>,
}

impl ClassRun<'_> {
    /// Injects it; returns how well the tracer found it, or why it could not be injected.
    pub(crate) fn run(&self) -> Result<CheckScore, String> {
        let mut helpers = self.start_helpers()?;
        let pid = helpers.measured.pid();
        let group = helpers.quota.as_ref().and_then(|quota| quota.name_of(pid));
        let opened = open(self.tracer, &[pid]);
        let mut tracer = opened.tracer.ok_or("the tracer cannot be had any more")?;
        tracer.start().map_err(|refusal| refusal.to_string())?;
        tracer.follow(pid, self.class.slack()).map_err(|refusal| refusal.to_string())?;
        drop(clock::sleep_for(SETTLING));
        let mut joiner = Joiner::default().storing_wakeups();
        helpers.start_at()?;
        let mut read_at = clock::now();
        self.watch(&helpers, |pid| read_tracer(&mut *tracer, pid, &mut read_at, &mut joiner))?;
        drop(clock::sleep_for(SETTLING));
        tracer.stop();
        read_tracer(&mut *tracer, pid, &mut read_at, &mut joiner);
        let (report, mut causes) = helpers.reports()?;
        if let Some(group) = group {
            causes.iter_mut().for_each(|cause| cause.name.clone_from(&group));
        }
        joiner.record_wakeups(report.wakeups());
        joiner.end();
        Ok(score(&causes, &joiner.into_wakeups()))
    }

    /// Starts all helpers, up to the point where they wait for the start time.
    fn start_helpers(&self) -> Result<HelperProcesses, String> {
        let quota = self.class.needs_quota().then(QuotaGroup::new).transpose()?;
        let group = quota.as_ref().map(QuotaGroup::folder);
        let task = |role, measured| HelperTask {
            class: self.class,
            role,
            cpu: self.cpu,
            lasts: self.lasts,
            measured,
            group: group.clone(),
        };
        let start = |task| HelperProcess::start(&task).map_err(|reason| reason.to_string());
        let measured = start(task(HelperRole::Measured, None))?;
        let pid = measured.pid();
        let injectors =
            (0..self.class.injectors()).map(|number| start(task(HelperRole::Injector(number), Some(pid))));
        let helpers =
            HelperProcesses { injectors: injectors.collect::<Result<_, _>>()?, measured, quota: None };
        if let Some(quota) = &quota {
            helpers.pids().try_for_each(|pid| quota.add(pid))?;
        }
        Ok(HelperProcesses { quota, ..helpers })
    }

    /// Reads the tracer until all helpers have reported.
    fn watch(&self, helpers: &HelperProcesses, mut read: impl FnMut(u32)) -> Result<(), String> {
        let give_up = clock::now().plus(self.lasts).plus(PATIENCE);
        while !helpers.are_done() {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err("it was ended while this was made".to_owned());
            }
            if clock::now() > give_up {
                return Err(format!("it was not done within {PATIENCE} after its time"));
            }
            // A signal only ends the pause early.
            drop(clock::sleep_for(READ_EVERY));
            read(helpers.measured.pid());
        }
        Ok(())
    }
}

/// Reads the sleeps of `pid` since the tracer was last read, at `read_at`.
fn read_tracer(tracer: &mut dyn Tracer, pid: u32, read_at: &mut MonotonicTime, joiner: &mut Joiner) {
    let (mut sleeps, began) = (Vec::new(), clock::now());
    let lost = tracer.read(&mut |sleep| sleeps.push(sleep));
    joiner.record_loss(lost, std::mem::replace(read_at, began), clock::now());
    sleeps.into_iter().filter(|sleep| sleep.tid == pid).for_each(|sleep| joiner.record_sleep(sleep));
}

impl HelperProcesses {
    fn pids(&self) -> impl Iterator<Item = u32> {
        self.injectors.iter().chain([&self.measured]).map(HelperProcess::pid)
    }

    fn start_at(&mut self) -> Result<(), String> {
        let start = clock::now().plus(START_AFTER);
        let mut all = self.injectors.iter_mut().chain([&mut self.measured]);
        all.try_for_each(|helper| helper.start_at(start)).map_err(|error| error.to_string())
    }

    fn are_done(&self) -> bool {
        self.injectors.iter().chain([&self.measured]).all(HelperProcess::is_done)
    }

    /// Wake-ups of the measured thread, and the causes that were injected.
    fn reports(self) -> Result<(InjectorReport, Vec<InjectedCause>), String> {
        let report_of = |helper: HelperProcess| helper.wait_for_report().map_err(|reason| reason.to_string());
        let mut measured = report_of(self.measured)?;
        let mut causes: Vec<InjectedCause> = measured.cause.take().into_iter().collect();
        for injector in self.injectors {
            causes.extend(report_of(injector)?.cause);
        }
        Ok((measured, causes))
    }
}

/// 40 % of one CPU, in short periods so that there are many of them.
const QUOTA: Span = Span::from_millis(4);
const PERIOD: Span = Span::from_millis(10);

/// A cgroup with a quota; the guard removes it however howlate ends.
pub(crate) struct QuotaGroup(QuotaCgroup);

impl QuotaGroup {
    pub(crate) fn new() -> Result<Self, String> {
        let name = format!("howlate-selfcheck-{}", std::process::id());
        let above: Vec<String> =
            CpuCgroups::read(&Root::live(), SELF).upwards().iter().map(Cgroup::folder).collect();
        Guard::default().create_quota_cgroup(&above, &name, QUOTA, PERIOD).map(Self)
    }

    /// Moves a process into the cgroup.
    pub(crate) fn add(&self, process: u32) -> Result<(), String> {
        self.0.add(process).map_err(|error| format!("a process cannot be moved into the group: {error}"))
    }

    /// Directory of the cgroup.
    pub(crate) fn folder(&self) -> String {
        self.0.path().to_owned()
    }

    /// Path of the cgroup as a process in it sees it, and as a tracer has to report it.
    pub(crate) fn name_of(&self, process: u32) -> Option<String> {
        let groups = CpuCgroups::read(&Root::live(), process).upwards();
        groups.iter().find(|group| group.folder() == self.0.path()).map(|group| group.name().to_owned())
    }
}

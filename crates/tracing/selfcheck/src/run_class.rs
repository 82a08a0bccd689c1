//! Making one class under the tracer's eyes.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_analyse::cause::Joiner;
use howlate_linux::clock;
use howlate_model::{CheckScore, InjectedCause, MonotonicTime, Span};
use howlate_trace::{Choice, Tracer, open};

use crate::inject::{Class, InjectorReport, Order, Part, Party};
use crate::quota::Quota;
use crate::score::score;

/// How long the kernel is given to settle after its code was patched.
const SETTLING: Span = Span::from_millis(20);

/// How often what the tracer saw is taken in.
const LOOK_EVERY: Span = Span::from_millis(20);
/// Time for all parties to get ready after they were told when to begin.
const SOON: Span = Span::from_millis(50);
/// How much longer than planned they may take, on a machine that is busy.
const PATIENCE: Span = Span::from_secs(10);

/// A class to be made.
pub(crate) struct Making<'a> {
    pub(crate) class: Class,
    pub(crate) cpu: u32,
    pub(crate) lasts: Span,
    pub(crate) tracer: Choice,
    pub(crate) interrupted: &'a AtomicBool,
}

/// The processes of one class. They are gone before the group that they are in.
struct Parties {
    measured: Party,
    makers: Vec<Party>,
    quota: Option<Quota>,
}

impl Making<'_> {
    /// Makes it; returns how well it was found, or why it could not be made.
    pub(crate) fn make(&self) -> Result<CheckScore, String> {
        let mut parties = self.gather()?;
        let pid = parties.measured.pid();
        let group = parties.quota.as_ref().and_then(|quota| quota.name_of(pid));
        let opened = open(self.tracer, &[pid]);
        let mut tracer = opened.tracer.ok_or("the tracer cannot be had any more")?;
        tracer.start().map_err(|refusal| refusal.to_string())?;
        tracer.follow(pid, self.class.slack()).map_err(|refusal| refusal.to_string())?;
        drop(clock::sleep_for(SETTLING));
        let mut joiner = Joiner::default().storing_wakeups();
        parties.go()?;
        let mut read_at = clock::now();
        self.watch(&parties, |pid| take_in(&mut *tracer, pid, &mut read_at, &mut joiner))?;
        drop(clock::sleep_for(SETTLING));
        tracer.stop();
        take_in(&mut *tracer, pid, &mut read_at, &mut joiner);
        let (told, mut known) = parties.tell()?;
        if let Some(group) = group {
            known.iter_mut().for_each(|known| known.name.clone_from(&group));
        }
        joiner.record_wakeups(told.wakeups());
        joiner.end();
        Ok(score(&known, &joiner.into_wakeups()))
    }

    /// Starts all processes, up to the moment when they wait for the start.
    fn gather(&self) -> Result<Parties, String> {
        let quota = self.class.needs_quota().then(Quota::make).transpose()?;
        let group = quota.as_ref().map(Quota::folder);
        let order = |part, measured| Order {
            class: self.class,
            part,
            cpu: self.cpu,
            lasts: self.lasts,
            measured,
            group: group.clone(),
        };
        let start = |order| Party::start(&order).map_err(|reason| reason.to_string());
        let measured = start(order(Part::Measured, None))?;
        let pid = measured.pid();
        let makers = (0..self.class.makers()).map(|number| start(order(Part::Maker(number), Some(pid))));
        let parties = Parties { makers: makers.collect::<Result<_, _>>()?, measured, quota: None };
        if let Some(quota) = &quota {
            parties.pids().try_for_each(|pid| quota.take_in(pid))?;
        }
        Ok(Parties { quota, ..parties })
    }

    /// Until all have told what they have to tell.
    fn watch(&self, parties: &Parties, mut take_in: impl FnMut(u32)) -> Result<(), String> {
        let give_up = clock::now().plus(self.lasts).plus(PATIENCE);
        while !parties.are_done() {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err("it was ended while this was made".to_owned());
            }
            if clock::now() > give_up {
                return Err(format!("it was not done within {PATIENCE} after its time"));
            }
            // A signal that ends the pause only makes the look come earlier.
            drop(clock::sleep_for(LOOK_EVERY));
            take_in(parties.measured.pid());
        }
        Ok(())
    }
}

/// What was seen of `pid` since the tracer was last read, at `read_at`.
fn take_in(tracer: &mut dyn Tracer, pid: u32, read_at: &mut MonotonicTime, joiner: &mut Joiner) {
    let (mut seen, began) = (Vec::new(), clock::now());
    let lost = tracer.read(&mut |one| seen.push(one));
    joiner.record_loss(lost, std::mem::replace(read_at, began), clock::now());
    seen.into_iter().filter(|one| one.tid == pid).for_each(|one| joiner.record_sleep(one));
}

impl Parties {
    fn pids(&self) -> impl Iterator<Item = u32> {
        self.makers.iter().chain([&self.measured]).map(Party::pid)
    }

    fn go(&mut self) -> Result<(), String> {
        let start = clock::now().plus(SOON);
        let mut all = self.makers.iter_mut().chain([&mut self.measured]);
        all.try_for_each(|party| party.go(start)).map_err(|error| error.to_string())
    }

    fn are_done(&self) -> bool {
        self.makers.iter().chain([&self.measured]).all(Party::is_done)
    }

    /// What the measured thread tells, and what was made, by whoever made it.
    fn tell(self) -> Result<(InjectorReport, Vec<InjectedCause>), String> {
        let told = |party: Party| party.wait_for_report().map_err(|reason| reason.to_string());
        let mut measured = told(self.measured)?;
        let mut known: Vec<InjectedCause> = measured.known.take().into_iter().collect();
        for maker in self.makers {
            known.extend(told(maker)?.known);
        }
        Ok((measured, known))
    }
}

//! The first look at a program: who sees what of it.

use howlate_model::{Caveat, Span, TracerRefusal};
use howlate_procfs::Root;
use howlate_system::{GroupFreezes, GroupQuotas};
use howlate_trace::{Choice, Tracer, TracerMissing};
use howlate_watched_program::{Loops, Subject, Threads, WatchedThread};

use crate::accounts::Accounts;
use crate::error::NotWatched;
use crate::followed::Followed;
use crate::program_facts::ProgramFacts;
use crate::traced::ChosenTracer;

/// What is asked of a watch.
pub struct Request<'a> {
    /// How to trace.
    pub tracer: Choice,
    /// Whether processes that it starts are watched as well.
    pub follow: bool,
    /// An iteration of an event loop that is longer is one in which it did not come back.
    pub loop_above: Span,
    /// Names of the threads that are meant; all if there are none.
    pub threads: &'a [String],
    /// When it ends by itself, after its beginning.
    pub duration: Option<Span>,
}

/// What is seen of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Each wake-up, and what it waited for.
    Wakers,
    /// How long its threads wait for a CPU, and loops that it has marked.
    WaitsForCpu,
    /// Nothing but loops that it has marked.
    Loops,
}

impl Seen {
    /// What is measured where no tracer sees what wakes threads.
    pub const fn what_is_left(self) -> Option<&'static str> {
        match self {
            Self::Wakers => None,
            Self::WaitsForCpu => Some(
                "What wakes the threads cannot be observed here. How long they wait for a CPU is measured, and loops that the \
                 program has marked (see `howlate watch --help`).\n",
            ),
            Self::Loops => Some(
                "There is no tracer: only loops are measured that the program has marked (see `howlate watch --help`).\n",
            ),
        }
    }
}

/// A program that can be watched. One that was started for it does not run yet.
pub struct Attached {
    /// None where nothing but marked loops is measured.
    pub(crate) tracer: Option<Box<dyn Tracer>>,
    /// Why there is none.
    pub(crate) untraced: Option<NotWatched>,
    /// Where no tracer sees what wakes threads.
    pub(crate) accounts: Option<Accounts>,
    pub(crate) loops: Option<Loops>,
    pub(crate) loop_above: Span,
    pub(crate) threads: Threads,
    pub(crate) followed: Followed,
    pub(crate) caveats: Vec<Caveat>,
    pub(crate) quotas: GroupQuotas,
    pub(crate) facts: ProgramFacts,
    pub(crate) freezes: GroupFreezes,
    pub(crate) duration: Option<Span>,
    /// The process that was started for it.
    pub(crate) held: Option<u32>,
}

impl Attached {
    /// Takes the first look, on a machine with this kernel.
    ///
    /// # Errors
    ///
    /// When nothing can be seen of it.
    pub fn begin(asked: &Request<'_>, kernel: &str, subject: &mut Subject) -> Result<Self, NotWatched> {
        let ChosenTracer { mut tracer, mut accounts, untraced, caveats } =
            ChosenTracer::choose(asked.tracer, subject)?;
        let mut threads = Threads::new(Root::live(), subject.pid(), asked.follow);
        let mut followed = Followed::new(asked.threads, kernel);
        match &mut tracer {
            Some(tracer) => attach(tracer.as_mut(), asked, &mut threads, &mut followed)?,
            None => drop(threads.look()),
        }
        accounts.iter_mut().for_each(|accounts| accounts.begin(&threads.all()));
        let quotas = GroupQuotas::begin(Root::live(), subject.pid());
        let freezes = GroupFreezes::of(Root::live(), subject.pid());
        let held = subject.is_held().then(|| subject.pid());
        let facts = ProgramFacts::begin(Root::live(), subject.pid(), held.is_some());
        let (loops, duration, loop_above) = (subject.take_loops(), asked.duration, asked.loop_above);
        Ok(Self {
            tracer,
            untraced,
            accounts,
            loops,
            loop_above,
            threads,
            followed,
            caveats,
            quotas,
            facts,
            freezes,
            duration,
            held,
        })
    }
}

/// What is seen of a program by `tracer` and the kernel's `accounts`.
pub(crate) fn seen(tracer: Option<&dyn Tracer>, accounts: Option<&Accounts>) -> Seen {
    match accounts {
        _ if tracer.is_some_and(|tracer| tracer.tier().sees_wakers()) => Seen::Wakers,
        Some(_) => Seen::WaitsForCpu,
        None => Seen::Loops,
    }
}

/// Follows all threads that there are.
fn attach(
    tracer: &mut dyn Tracer,
    asked: &Request<'_>,
    threads: &mut Threads,
    followed: &mut Followed,
) -> Result<(), TracerMissing> {
    let tier = tracer.tier();
    let refused = |refusal| TracerMissing { tier, refusal };
    if asked.follow {
        tracer.with_children().map_err(refused)?;
    }
    tracer.with_loops(asked.loop_above).map_err(refused)?;
    tracer.start().map_err(refused)?;
    for thread in threads.look().come {
        follow(tracer, &thread).map_err(refused)?;
        followed.follow(&thread);
    }
    Ok(())
}

/// Has the tracer see a thread.
pub(crate) fn follow(tracer: &mut dyn Tracer, thread: &WatchedThread) -> Result<(), TracerRefusal> {
    tracer.follow(thread.tid, Span::ZERO)
}

//! Attaches a tracer or the fallbacks to a program, before it is watched.

use howlate_model::{Caveat, Span, TracerRefusal};
use howlate_procfs::Root;
use howlate_system::{GroupFreezes, GroupQuotas};
use howlate_trace::{Choice, Tier, Tracer, TracerMissing};
/// Only its marked loops.
use howlate_watched_program::{MarkedLoops, WatchTarget, WatchedThread, WatchedThreads};

use crate::chosen_tracer::{AttachError, ChosenTracer};
use crate::followed_threads::FollowedThreads;
use crate::program_facts::ProgramFacts;
use crate::schedstats::SchedstatReader;

/// Options of a watch.
pub struct WatchRequest<'a> {
    pub tracer: Choice,
    /// Whether child processes are watched as well.
    pub follow: bool,
    /// Iterations of event loops longer than this are reported.
    pub loop_above: Span,
    /// Whether requests to its servers are measured.
    pub requests: bool,
    /// Names of the threads to measure; empty: all.
    pub threads: &'a [String],
    /// `None`: until the program ends.
    pub duration: Option<Span>,
}

impl WatchRequest<'_> {
    /// The error for the options: whoever asks for requests need not have asked for a tracer.
    fn refusal(&self, error: AttachError) -> AttachError {
        match error {
            AttachError::Tracer(missing) if self.requests => AttachError::NoRequests(missing),
            error => error,
        }
    }
}

/// What is visible of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Each wake-up, and what it waited for.
    Wakers,
    /// How long its threads wait for a CPU, and its marked loops.
    WaitsForCpu,
    /// Nothing but loops that it has marked.
    Loops,
}

impl Visibility {
    /// Message about what is measured where wake-ups are not visible.
    pub const fn limitation(self) -> Option<&'static str> {
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

/// A program that is ready to be watched. A started one does not run yet.
pub struct Attachment {
    /// `None`: only marked loops or schedstat are measured.
    pub(crate) tracer: Option<Box<dyn Tracer>>,
    /// Why there is no tracer.
    pub(crate) no_tracer_reason: Option<AttachError>,
    /// Where no tracer sees wake-ups.
    pub(crate) schedstats: Option<SchedstatReader>,
    pub(crate) loops: Option<MarkedLoops>,
    pub(crate) loop_above: Span,
    pub(crate) threads: WatchedThreads,
    pub(crate) followed: FollowedThreads,
    pub(crate) caveats: Vec<Caveat>,
    pub(crate) quotas: GroupQuotas,
    pub(crate) facts: ProgramFacts,
    pub(crate) freezes: GroupFreezes,
    pub(crate) duration: Option<Span>,
    /// The process of a started program, until a tracer has seen its `execve`.
    pub(crate) held_pid: Option<u32>,
}

impl Attachment {
    /// Attaches to `target`, on a machine with this kernel.
    ///
    /// # Errors
    ///
    /// When nothing of it can be seen.
    pub fn new(
        request: &WatchRequest<'_>,
        kernel: &str,
        target: &mut WatchTarget,
    ) -> Result<Self, AttachError> {
        let choice = if request.requests { Choice::Only(Tier::Bpf) } else { request.tracer };
        let chosen = ChosenTracer::choose(choice, target).map_err(|error| request.refusal(error))?;
        let ChosenTracer { mut tracer, mut schedstats, no_tracer_reason, caveats } = chosen;
        let mut threads = WatchedThreads::new(Root::live(), target.pid(), request.follow);
        let mut followed = FollowedThreads::new(request.threads, kernel);
        if request.requests {
            followed.with_requests(target.pid());
        }
        match &mut tracer {
            Some(tracer) => attach(tracer.as_mut(), request, &mut threads, &mut followed)
                .map_err(|missing| request.refusal(missing.into()))?,
            None => drop(threads.update()),
        }
        schedstats.iter_mut().for_each(|schedstats| schedstats.set_start(&threads.all()));
        let quotas = GroupQuotas::begin(Root::live(), target.pid());
        let freezes = GroupFreezes::of(Root::live(), target.pid());
        let held_pid = target.is_held().then(|| target.pid());
        let facts = ProgramFacts::new(Root::live(), target.pid(), held_pid.is_some());
        let (loops, duration, loop_above) = (target.take_loops(), request.duration, request.loop_above);
        Ok(Self {
            tracer,
            no_tracer_reason,
            schedstats,
            loops,
            loop_above,
            threads,
            followed,
            caveats,
            quotas,
            facts,
            freezes,
            duration,
            held_pid,
        })
    }

    pub(crate) fn visibility(&self) -> Visibility {
        match self.schedstats {
            _ if self.tracer.as_ref().is_some_and(|tracer| tracer.tier().sees_wakers()) => Visibility::Wakers,
            Some(_) => Visibility::WaitsForCpu,
            None => Visibility::Loops,
        }
    }
}

/// Starts the tracer, and follows all current threads.
fn attach(
    tracer: &mut dyn Tracer,
    request: &WatchRequest<'_>,
    threads: &mut WatchedThreads,
    followed: &mut FollowedThreads,
) -> Result<(), TracerMissing> {
    let tier = tracer.tier();
    let refused = |refusal| TracerMissing { tier, refusal };
    if request.follow {
        tracer.with_children().map_err(refused)?;
    }
    tracer.with_loops(request.loop_above).map_err(refused)?;
    if request.requests {
        tracer.with_requests().map_err(refused)?;
    }
    tracer.start().map_err(refused)?;
    for thread in threads.update().started {
        follow(tracer, &thread).map_err(refused)?;
        followed.follow(&thread);
    }
    Ok(())
}

/// Has the tracer follow a thread.
pub(crate) fn follow(tracer: &mut dyn Tracer, thread: &WatchedThread) -> Result<(), TracerRefusal> {
    tracer.follow(thread.tid, Span::ZERO)
}

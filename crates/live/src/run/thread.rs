//! The thread that paints: apart from whoever measures, which hands it a value now and then and never waits for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use howlate_linux::sched::{self, THIS_THREAD};
use howlate_model::{CpuSet, Nice, Policy, Span};
use howlate_render::{Screen, SoFar};

use super::recent::Recent;
use super::summary::{Asked, Baseline, screenful};
use crate::choices::{Came, Choices};
use crate::locale::may_show_unicode;
use crate::panels::paint;
use crate::screenful::{Panel, Screenful};
use crate::terminal::{AlternateScreen, Bell, Tty, Unsuitable, check};
use crate::theme::Theme;

/// The screen is looked after this often where nothing happens: a new size, a signal.
const IDLE: Span = Span::from_millis(500);

/// So long is waited for the terminal to be given back.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shows a run on the whole screen.
pub struct LiveRun {
    shared: Arc<Shared>,
    /// Ends when the painter has given the terminal back.
    painter: Option<Receiver<()>>,
    recent: Recent,
    baseline: Option<Baseline>,
}

/// What the one who measures and the one who paints have in common.
struct Shared {
    /// The newest value, for the painter to take.
    next: Mutex<Option<Box<Screenful>>>,
    /// Where the painter is to run.
    away: Mutex<Option<CpuSet>>,
    bell: Bell,
    /// The row that is looked at, and whether each CPU has one.
    selected: AtomicU64,
    each: AtomicBool,
    /// Maxima are to begin anew.
    reset: AtomicBool,
    /// Nothing more will come.
    over: AtomicBool,
    /// Set when a key asks for the end.
    interrupted: Arc<AtomicBool>,
}

/// No row was chosen.
const NONE: u64 = u64::MAX;

impl LiveRun {
    /// Takes the terminal; `interrupted` is set when a key asks for the end.
    ///
    /// # Errors
    ///
    /// When the terminal will not do, or there is no thread to be had.
    pub fn begin(interrupted: &Arc<AtomicBool>) -> Result<Self, Unsuitable> {
        check()?;
        let shared = Arc::new(Shared {
            next: Mutex::default(),
            away: Mutex::default(),
            bell: Bell::new()?,
            selected: AtomicU64::new(NONE),
            each: AtomicBool::new(false),
            reset: AtomicBool::new(false),
            over: AtomicBool::new(false),
            interrupted: Arc::clone(interrupted),
        });
        let (tty, screen) = (Tty::open()?, AlternateScreen::enter()?);
        let theme = Theme::from_environment(may_show_unicode());
        let of_painter = Arc::clone(&shared);
        let (painting, painter) = channel();
        std::thread::Builder::new().name("live".to_owned()).spawn(move || {
            let _painting: Sender<()> = painting;
            // It must not be in the way of anybody who measures. Where it is refused, it paints as it is.
            drop(sched::set_policy(THIS_THREAD, Policy::Other { nice: Nice::new(19) }));
            Painter::new(&of_painter, theme).run(screen, &tty);
        })?;
        Ok(Self { shared, painter: Some(painter), recent: Recent::default(), baseline: None })
    }

    fn asked(&self) -> Asked {
        let selected = Some(self.shared.selected.load(Ordering::Relaxed)).filter(|key| *key != NONE);
        Asked { selected, each: self.shared.each.load(Ordering::Relaxed) }
    }
}

impl Screen for LiveRun {
    fn show(&mut self, _text: &str) {}

    fn clear(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        self.shared.bell.ring();
        // One that panicked has given the terminal back, and said why. A terminal that takes nothing must not keep the result.
        self.painter.take().map(|painter| painter.recv_timeout(PATIENCE));
    }

    fn width(&self) -> usize {
        0
    }

    fn draw(&mut self, run: &SoFar<'_>) -> bool {
        self.recent.look(run.analysis);
        if self.shared.reset.swap(false, Ordering::Relaxed) {
            self.baseline = Some(Baseline::of(run.analysis));
        }
        let next = screenful(run, &self.asked(), self.baseline.as_ref(), &self.recent);
        // Whoever measures waits for nobody: where the painter is just taking the last one, this one is left out.
        if let Some(mut place) = without_waiting(&self.shared.next) {
            *place = Some(Box::new(next));
        }
        if let Some(mut place) = without_waiting(&self.shared.away) {
            *place = run.away.cloned();
        }
        self.shared.bell.ring();
        true
    }
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        self.clear();
    }
}

fn without_waiting<T>(of: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match of.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn take<T: Default>(of: &Mutex<T>) -> T {
    std::mem::take(&mut *of.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The painting half: terminal, choices, and what was painted last.
struct Painter<'a> {
    shared: &'a Shared,
    theme: Theme,
    choices: Choices,
    shown: Screenful,
    /// What came since, while the screen is frozen.
    newest: Option<Box<Screenful>>,
    /// Where it runs.
    cpus: Option<CpuSet>,
}

/// How the painter goes on after a look at keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Leave,
    LeaveStanding,
}

impl<'a> Painter<'a> {
    fn new(shared: &'a Shared, theme: Theme) -> Self {
        let shown = Screenful { doing: "beginning".to_owned(), ..Screenful::default() };
        Self { shared, theme, choices: Choices::new(), shown, newest: None, cpus: None }
    }

    fn run(&mut self, mut screen: AlternateScreen, tty: &Tty) {
        loop {
            let next = self.look(tty);
            self.keep_away();
            if let Some(newest) = self.newest.take_if(|_| !self.choices.is_frozen) {
                self.shown = *newest;
            }
            let Self { shown, choices, theme, .. } = self;
            match next {
                Next::Leave => return,
                Next::LeaveStanding => {
                    return screen.leave_standing(|frame| paint(shown, choices, *theme, frame.buffer_mut()));
                }
                Next::GoOn => {}
            }
            // Where the terminal is gone, there is nobody to paint for; measuring goes on.
            let painted = screen
                .heed_signals()
                .and_then(|()| screen.draw(|frame| paint(shown, choices, *theme, frame.buffer_mut())));
            if painted.is_err() {
                return;
            }
            tty.wait(&self.shared.bell, IDLE);
        }
    }

    /// Takes in what is new, and what was typed.
    fn look(&mut self, tty: &Tty) -> Next {
        if let Some(newest) = take(&self.shared.next) {
            self.newest = Some(newest);
        }
        let Some(events) = tty.events() else { return Next::Leave };
        for event in events {
            match self.choices.take(&event, &self.shown) {
                Came::Nothing => {}
                Came::Otherwise => self.tell_what_is_looked_at(),
                Came::ResetMaximum => self.shared.reset.store(true, Ordering::Relaxed),
                Came::Stop => AlternateScreen::stop_the_job(),
                Came::End { standing } => {
                    self.shared.interrupted.store(true, Ordering::Relaxed);
                    return if standing { Next::LeaveStanding } else { Next::Leave };
                }
            }
        }
        // Ctrl-C of somebody else, or a terminal that is gone: the next one ends the program without a word.
        let is_over =
            self.shared.over.load(Ordering::Relaxed) || self.shared.interrupted.load(Ordering::Relaxed);
        if is_over { Next::Leave } else { Next::GoOn }
    }

    fn tell_what_is_looked_at(&self) {
        let selected = self.choices.selected(Panel::Table).unwrap_or(NONE);
        self.shared.selected.store(selected, Ordering::Relaxed);
        self.shared.each.store(self.choices.each, Ordering::Relaxed);
    }

    /// Runs where whoever looks after the measuring threads runs.
    fn keep_away(&mut self) {
        let cpus = take(&self.shared.away);
        if cpus.is_some() && cpus != self.cpus {
            self.cpus = cpus;
            self.cpus.iter().for_each(|cpus| drop(sched::bind(cpus)));
        }
    }
}

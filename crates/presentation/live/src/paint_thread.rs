//! The thread that paints: apart from whoever measures, which hands it a value now and then and never waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use howlate_linux::clock;
use howlate_linux::sched::{self, THIS_THREAD};
use howlate_model::{CpuSet, MonotonicTime, Nice, Policy, Span};

use crate::choices::{Came, Choices};
use crate::locale::may_show_unicode;
use crate::panels::paint;
use crate::screenful::{Asked, Screenful};
use crate::terminal::{AlternateScreen, Bell, Tty, Unsuitable, check};
use crate::theme::Theme;

/// The screen is looked after this often where nothing happens: a new size, a signal.
const IDLE: Span = Span::from_millis(500);

/// So long is waited for the terminal to be given back.
const PATIENCE: Duration = Duration::from_secs(2);

/// What can be shown, in the way that is asked for.
pub(crate) trait Content: Send {
    /// The screen.
    fn screenful(&self, asked: &Asked) -> Screenful;
}

impl Content for Screenful {
    fn screenful(&self, _asked: &Asked) -> Screenful {
        self.clone()
    }
}

/// The whole screen, as whoever has something to show knows it.
pub(crate) struct View {
    shared: Arc<Shared>,
    /// Ends when the painter has given the terminal back.
    painter: Option<Receiver<()>>,
    asked: Asked,
}

/// What the one who measures and the one who paints have in common.
struct Shared {
    /// The newest value, for the painter to take.
    next: Mutex<Option<Box<dyn Content>>>,
    /// Where the painter is to run.
    away: Mutex<Option<CpuSet>>,
    bell: Bell,
    /// What somebody looks at.
    asked: Mutex<Asked>,
    /// What keys have asked for since somebody looked.
    wishes: Mutex<Wishes>,
    /// Nothing more will come.
    over: AtomicBool,
    /// Set when a key asks for the end.
    interrupted: Arc<AtomicBool>,
}

/// What keys have asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    /// Maxima are to begin anew.
    pub(crate) reset: bool,
    /// Moments that are to be marked.
    pub(crate) marks: Vec<MonotonicTime>,
    /// What all CPUs have done just now is to be kept.
    pub(crate) timeline: bool,
}

impl View {
    /// Takes the terminal, and shows it with what `asked` has chosen at first; `interrupted` is set when a key asks for the end.
    pub(crate) fn begin(interrupted: &Arc<AtomicBool>, choices: Choices) -> Result<Self, Unsuitable> {
        check()?;
        let asked = choices.asked();
        let shared = Arc::new(Shared {
            next: Mutex::default(),
            away: Mutex::default(),
            bell: Bell::new()?,
            asked: Mutex::new(asked.clone()),
            wishes: Mutex::default(),
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
            Painter::new(&of_painter, theme, choices).run(screen, &tty);
        })?;
        Ok(Self { shared, painter: Some(painter), asked })
    }

    /// What somebody looks at.
    pub(crate) fn asked(&mut self) -> &Asked {
        if let Some(asked) = without_waiting(&self.shared.asked) {
            self.asked.clone_from(&asked);
        }
        &self.asked
    }

    /// What keys have asked for since the last time.
    pub(crate) fn wishes(&self) -> Wishes {
        without_waiting(&self.shared.wishes)
            .map(|mut wishes| std::mem::take(&mut *wishes))
            .unwrap_or_default()
    }

    /// Hands on what is to be shown, by somebody who is to run on `away`. Whoever measures waits for nobody: where the painter is
    /// just taking the last one, this one is left out.
    pub(crate) fn show(&self, next: Box<dyn Content>, away: Option<&CpuSet>) {
        if let Some(mut place) = without_waiting(&self.shared.next) {
            *place = Some(next);
        }
        if let Some(mut place) = without_waiting(&self.shared.away) {
            *place = away.cloned();
        }
        self.shared.bell.ring();
    }

    /// Gives the terminal back.
    pub(crate) fn end(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        self.shared.bell.ring();
        // One that panicked has given the terminal back, and said why. A terminal that takes nothing must not keep the result.
        self.painter.take().map(|painter| painter.recv_timeout(PATIENCE));
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.end();
    }
}

fn without_waiting<T>(of: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match of.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The painting half: terminal, choices, and what was painted last.
struct Painter<'a> {
    shared: &'a Shared,
    theme: Theme,
    choices: Choices,
    shown: Screenful,
    /// What it is made of.
    content: Option<Box<dyn Content>>,
    /// What came since, while the screen is frozen.
    newest: Option<Box<dyn Content>>,
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
    fn new(shared: &'a Shared, theme: Theme, choices: Choices) -> Self {
        let shown = Screenful { doing: "beginning".to_owned(), ..Screenful::default() };
        Self { shared, theme, choices, shown, content: None, newest: None, cpus: None }
    }

    fn run(&mut self, mut screen: AlternateScreen, tty: &Tty) {
        loop {
            let next = self.look(tty);
            self.keep_away();
            if let Some(newest) = self.newest.take_if(|_| !self.choices.is_frozen) {
                self.content = Some(newest);
                self.make();
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

    /// Makes the screen of what there is, as it is asked for now.
    fn make(&mut self) {
        if let Some(content) = &self.content {
            self.shown = content.screenful(&self.choices.asked());
        }
    }

    /// Takes in what is new, and what was typed.
    fn look(&mut self, tty: &Tty) -> Next {
        if let Some(newest) = locked(&self.shared.next).take() {
            self.newest = Some(newest);
        }
        let Some(events) = tty.events() else { return Next::Leave };
        for event in events {
            match self.choices.take(&event, &self.shown) {
                Came::Nothing => {}
                Came::Otherwise => self.tell_what_is_looked_at(),
                Came::ResetMaximum => locked(&self.shared.wishes).reset = true,
                Came::Mark => locked(&self.shared.wishes).marks.push(clock::now()),
                Came::Timeline => locked(&self.shared.wishes).timeline = true,
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

    fn tell_what_is_looked_at(&mut self) {
        *locked(&self.shared.asked) = self.choices.asked();
        self.make();
    }

    /// Runs where whoever looks after the measuring threads runs.
    fn keep_away(&mut self) {
        let cpus = locked(&self.shared.away).take();
        if cpus.is_some() && cpus != self.cpus {
            self.cpus = cpus;
            self.cpus.iter().for_each(|cpus| drop(sched::bind(cpus)));
        }
    }
}

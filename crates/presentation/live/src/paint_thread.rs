//! The thread that paints. The measuring side hands it values and never waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use howlate_linux::clock;
use howlate_linux::sched::{self, THIS_THREAD};
use howlate_model::{CpuSet, MonotonicTime, Nice, Policy, Span};

use crate::choices::{Choices, Reaction};
use crate::panels::paint;
use crate::screenful::{Query, Screenful};
use crate::symbols::may_show_unicode;
use crate::terminal::{AlternateScreen, Bell, Tty, UnsuitableTerminal, check};
use crate::theme::LiveTheme;

/// Interval of the checks for signals and a new size while no key comes.
const IDLE: Span = Span::from_millis(500);

/// Longest wait for the painter to restore the terminal.
const PATIENCE: Duration = Duration::from_secs(2);

/// Data that can be shown as a screen, depending on the user's choices.
pub(crate) trait Content: Send {
    fn screenful(&self, query: &Query) -> Screenful;
}

impl Content for Screenful {
    fn screenful(&self, _asked: &Query) -> Screenful {
        self.clone()
    }
}

/// The view's side of the measuring program.
pub(crate) struct LiveScreen {
    shared: Arc<SharedState>,
    /// Disconnected when the painter has restored the terminal.
    painter_end: Option<Receiver<()>>,
    query: Query,
}

/// State shared by the measuring thread and the painter.
struct SharedState {
    /// The newest content that the painter has not fetched yet.
    next: Mutex<Option<Box<dyn Content>>>,
    /// CPUs for the painter.
    cpus: Mutex<Option<CpuSet>>,
    bell: Bell,
    query: Mutex<Query>,
    /// Requests by keys that the measuring side has not fetched yet.
    requests: Mutex<KeyRequests>,
    /// Set when the view is closed.
    closed: AtomicBool,
    /// Set when a key requests the end of the run.
    interrupted: Arc<AtomicBool>,
}

/// Requests by keys to the measuring side.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyRequests {
    pub(crate) reset: bool,
    pub(crate) marks: Vec<MonotonicTime>,
    /// Write the recent activity of all CPUs.
    pub(crate) timeline: bool,
}

impl LiveScreen {
    /// Takes the terminal and starts the painter; `interrupted` is set when a key requests the end of the run.
    pub(crate) fn begin(interrupted: &Arc<AtomicBool>, choices: Choices) -> Result<Self, UnsuitableTerminal> {
        check()?;
        let query = choices.query();
        let shared = Arc::new(SharedState {
            next: Mutex::default(),
            cpus: Mutex::default(),
            bell: Bell::new()?,
            query: Mutex::new(query.clone()),
            requests: Mutex::default(),
            closed: AtomicBool::new(false),
            interrupted: Arc::clone(interrupted),
        });
        let (tty, screen) = (Tty::open()?, AlternateScreen::enter()?);
        let theme = LiveTheme::from_environment(may_show_unicode());
        let painter_shared = Arc::clone(&shared);
        let (keep_open, painter_end) = channel();
        std::thread::Builder::new().name("live".to_owned()).spawn(move || {
            let _keep_open: Sender<()> = keep_open;
            // Lowest priority, so as not to disturb the measurement; without permission it keeps its own.
            drop(sched::set_policy(THIS_THREAD, Policy::Other { nice: Nice::new(19) }));
            Painter::new(&painter_shared, theme, choices).run(screen, &tty);
        })?;
        Ok(Self { shared, painter_end: Some(painter_end), query })
    }

    /// What the user chose to see.
    pub(crate) fn query(&mut self) -> &Query {
        if let Some(query) = try_lock(&self.shared.query) {
            self.query.clone_from(&query);
        }
        &self.query
    }

    /// Requests by keys since the last call.
    pub(crate) fn requests(&self) -> KeyRequests {
        try_lock(&self.shared.requests).map(|mut requests| std::mem::take(&mut *requests)).unwrap_or_default()
    }

    /// Hands on the next content, and the CPUs that the painter should run on. Never waits: content is dropped while the painter
    /// fetches the one before.
    pub(crate) fn show(&self, next: Box<dyn Content>, cpus: Option<&CpuSet>) {
        if let Some(mut slot) = try_lock(&self.shared.next) {
            *slot = Some(next);
        }
        if let Some(mut slot) = try_lock(&self.shared.cpus) {
            *slot = cpus.cloned();
        }
        self.shared.bell.ring();
    }

    /// Restores the terminal.
    pub(crate) fn end(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.shared.bell.ring();
        // No receive error: a painter that panicked has restored the terminal. The timeout: a blocked terminal must not keep the result.
        self.painter_end.take().map(|painter_end| painter_end.recv_timeout(PATIENCE));
    }
}

impl Drop for LiveScreen {
    fn drop(&mut self) {
        self.end();
    }
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Painter<'a> {
    shared: &'a SharedState,
    theme: LiveTheme,
    choices: Choices,
    screenful: Screenful,
    /// Source of `screenful`.
    content: Option<Box<dyn Content>>,
    /// The newest content; newer than `content` while the screen is frozen.
    newest: Option<Box<dyn Content>>,
    /// CPUs that the painter is bound to.
    cpus: Option<CpuSet>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NextStep {
    Continue,
    Quit,
    QuitKeepingScreen,
}

impl<'a> Painter<'a> {
    fn new(shared: &'a SharedState, theme: LiveTheme, choices: Choices) -> Self {
        let screenful = Screenful { doing: "beginning".to_owned(), ..Screenful::default() };
        Self { shared, theme, choices, screenful, content: None, newest: None, cpus: None }
    }

    fn run(&mut self, mut screen: AlternateScreen, tty: &Tty) {
        loop {
            let next = self.handle_input(tty);
            self.bind_to_cpus();
            if let Some(newest) = self.newest.take_if(|_| !self.choices.is_frozen) {
                self.content = Some(newest);
                self.update_screenful();
            }
            let Self { screenful, choices, theme, .. } = self;
            match next {
                NextStep::Quit => return,
                NextStep::QuitKeepingScreen => {
                    return screen
                        .leave_with_text(|frame| paint(screenful, choices, *theme, frame.buffer_mut()));
                }
                NextStep::Continue => {}
            }
            // Without a terminal only the painting ends; the measurement goes on.
            let painted = screen
                .handle_signals()
                .and_then(|()| screen.draw(|frame| paint(screenful, choices, *theme, frame.buffer_mut())));
            if painted.is_err() {
                return;
            }
            tty.wait(&self.shared.bell, IDLE);
        }
    }

    /// Makes the screen for the present query.
    fn update_screenful(&mut self) {
        if let Some(content) = &self.content {
            self.screenful = content.screenful(&self.choices.query());
        }
    }

    /// Fetches new content and handles keys.
    fn handle_input(&mut self, tty: &Tty) -> NextStep {
        if let Some(newest) = lock(&self.shared.next).take() {
            self.newest = Some(newest);
        }
        let Some(events) = tty.events() else { return NextStep::Quit };
        for event in events {
            match self.choices.handle(&event, &self.screenful) {
                Reaction::Nothing => {}
                Reaction::QueryChanged => self.publish_query(),
                Reaction::ResetMaximum => lock(&self.shared.requests).reset = true,
                Reaction::Mark => lock(&self.shared.requests).marks.push(clock::now()),
                Reaction::Timeline => lock(&self.shared.requests).timeline = true,
                Reaction::Suspend => AlternateScreen::suspend_process_group(),
                Reaction::Quit { keep_screen } => {
                    self.shared.interrupted.store(true, Ordering::Relaxed);
                    return if keep_screen { NextStep::QuitKeepingScreen } else { NextStep::Quit };
                }
            }
        }
        // A signal, or a terminal that hung up. The next Ctrl-C ends the program at once.
        let is_over =
            self.shared.closed.load(Ordering::Relaxed) || self.shared.interrupted.load(Ordering::Relaxed);
        if is_over { NextStep::Quit } else { NextStep::Continue }
    }

    fn publish_query(&mut self) {
        *lock(&self.shared.query) = self.choices.query();
        self.update_screenful();
    }

    /// Binds the painter to the housekeeping CPUs of the measuring side.
    fn bind_to_cpus(&mut self) {
        let cpus = lock(&self.shared.cpus).take();
        if cpus.is_some() && cpus != self.cpus {
            self.cpus = cpus;
            self.cpus.iter().for_each(|cpus| drop(sched::bind(cpus)));
        }
    }
}

//! One booted guest, from the host's side.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use howlate_linux::{clock, parent};
use howlate_model::{Accelerator, Caveat, HostThread, Line, MonotonicTime, Span, VcpuTime};
use tempfile::TempDir;

use crate::emulator::{self, Acceleration, Machine, Places, command, kvm_opens};
use crate::host::{HostSettings, Ledger};
use crate::qmp::Qmp;
use crate::task::{Message, Over};
use crate::{Errand, GuestError, Kernel, Program, initramfs};

/// Lines of the console that an error shows.
const CONSOLE_KEPT: usize = 12;

/// A guest on a processor of its own prints within a second; one that has not printed anything
/// after this long does not get anywhere on KVM.
const SIGN_OF_LIFE: Span = Span::from_secs(10);

/// How long a guest that has said its last may take to switch itself off.
const SWITCH_OFF: Span = Span::from_secs(20);

/// How often whoever asks for an event gets one, if only that nothing happened.
const AT_LEAST_EVERY: Duration = Duration::from_millis(200);

/// What comes from a guest.
#[derive(Debug)]
pub enum Event {
    /// A line of its recording.
    Line(Box<Line>),
    /// Its command ended with this status; all lines have come.
    Over {
        /// The exit status.
        exit_status: i32,
        /// What it said on standard error.
        said: String,
    },
    /// It got nowhere on KVM and was started again with an emulated CPU.
    FellBack {
        /// What KVM did.
        reason: String,
    },
    /// Nothing for a moment.
    Nothing,
}

/// What arrives from QEMU's streams.
enum Arrival {
    Console(String),
    Said(String),
    Result(String),
}

/// What a guest is made of.
pub struct Setup<'a> {
    /// The virtual machine.
    pub machine: &'a Machine,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// howlate, for inside.
    pub program: &'a Program,
    /// What it is to do.
    pub errand: &'a Errand,
    /// Settings of QEMU's threads.
    pub settings: &'a HostSettings,
    /// How long it may take until its first line.
    pub boot_deadline: Span,
    /// How long it may be silent afterwards.
    pub hang_deadline: Span,
}

/// A running guest; ended when dropped.
pub struct Guest<'a> {
    setup: Setup<'a>,
    running: Running,
    /// What KVM did, until it is told.
    fell_back: Option<String>,
    console: VecDeque<String>,
    /// The line that says why the kernel gave up, which its last lines often bury.
    panic: Option<String>,
    said: String,
    began: MonotonicTime,
    /// When the last line of its recording came; `None` before the first.
    last_line: Option<MonotonicTime>,
    before: Ledger,
    now: Ledger,
}

/// QEMU, and what is connected to it.
struct Running {
    child: Child,
    accelerator: Accelerator,
    arrivals: Receiver<Arrival>,
    vcpus: Vec<HostThread>,
    emulator: HostThread,
    caveats: Vec<Caveat>,
    /// Closing it would be noticed; the folder holds its socket.
    _control: Qmp,
    _folder: TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl<'a> Guest<'a> {
    /// Starts QEMU, applies the settings to its threads, and lets the guest run.
    ///
    /// # Errors
    ///
    /// When QEMU is missing or does not start.
    pub fn boot(setup: Setup<'a>) -> Result<Self, GuestError> {
        let machine = setup.machine;
        if machine.acceleration == Acceleration::Only(Accelerator::Kvm) {
            kvm_opens()?;
        }
        let accelerator = machine.acceleration.first(machine.architecture);
        let (running, fell_back) = match Running::start(&setup, accelerator) {
            Err(error) if accelerator == Accelerator::Kvm && machine.acceleration == Acceleration::Auto => {
                (Running::start(&setup, Accelerator::Tcg)?, Some(error.to_string()))
            }
            other => (other?, None),
        };
        let (console, panic, said) = (VecDeque::new(), None, String::new());
        let (before, now) = (Ledger::default(), Ledger::default());
        Ok(Self {
            setup,
            running,
            fell_back,
            console,
            panic,
            said,
            began: clock::now(),
            last_line: None,
            before,
            now,
        })
    }

    /// What comes next; waits a moment at most.
    ///
    /// # Errors
    ///
    /// When the guest has ended before its time, or a deadline has passed.
    pub fn wait(&mut self) -> Result<Event, GuestError> {
        if let Some(reason) = self.fell_back.take() {
            return Ok(Event::FellBack { reason });
        }
        match self.running.arrivals.recv_timeout(AT_LEAST_EVERY) {
            Ok(Arrival::Console(line)) => self.keep_console(line),
            Ok(Arrival::Said(line)) => self.said = line,
            Ok(Arrival::Result(line)) => return self.result(&line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if self.may_fall_back() => {
                return self.fall_back(format!("QEMU ended: {}", self.said));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(GuestError::Died { said: self.said.clone(), console: self.last_lines() });
            }
        }
        self.check_deadlines()
    }

    fn keep_console(&mut self, line: String) {
        if line.contains("Kernel panic") {
            self.panic.get_or_insert_with(|| line.clone());
        }
        if self.console.len() == CONSOLE_KEPT {
            self.console.pop_front();
        }
        self.console.push_back(line);
    }

    fn last_lines(&self) -> Vec<String> {
        let buried = self.panic.iter().filter(|line| !self.console.contains(line));
        buried.chain(&self.console).cloned().collect()
    }

    fn result(&mut self, line: &str) -> Result<Event, GuestError> {
        let message = Message::parse(line).map_err(GuestError::Json)?;
        let ledger = Ledger::read(&self.running.vcpus);
        if self.last_line.is_none() {
            self.before = ledger.clone().unwrap_or_default();
        }
        self.now = ledger.unwrap_or_else(|| self.now.clone());
        self.last_line = Some(clock::now());
        Ok(match message {
            Message::Line(line) => Event::Line(line),
            Message::Over(Over { exit_status, said }) => Event::Over { exit_status, said },
        })
    }

    fn check_deadlines(&mut self) -> Result<Event, GuestError> {
        let now = clock::now();
        let Setup { boot_deadline, hang_deadline, .. } = self.setup;
        match self.last_line {
            Some(last) if now.since(last) > hang_deadline => {
                Err(GuestError::Hung { after: hang_deadline, console: self.last_lines() })
            }
            Some(_) => Ok(Event::Nothing),
            None if self.may_fall_back() && now.since(self.began) > SIGN_OF_LIFE => {
                self.fall_back(format!("the guest showed no sign of life within {SIGN_OF_LIFE}"))
            }
            None if now.since(self.began) > boot_deadline => {
                Err(GuestError::NotBooted { after: boot_deadline, console: self.last_lines() })
            }
            None => Ok(Event::Nothing),
        }
    }

    /// Whether it got nowhere so far on KVM, and may be tried without.
    fn may_fall_back(&self) -> bool {
        self.running.accelerator == Accelerator::Kvm
            && self.setup.machine.acceleration == Acceleration::Auto
            && self.console.is_empty()
            && self.last_line.is_none()
    }

    fn fall_back(&mut self, reason: String) -> Result<Event, GuestError> {
        self.running = Running::start(&self.setup, Accelerator::Tcg)?;
        self.began = clock::now();
        Ok(Event::FellBack { reason })
    }

    /// What runs its instructions.
    pub fn accelerator(&self) -> Accelerator {
        self.running.accelerator
    }

    /// The threads that run its CPUs.
    pub fn vcpus(&self) -> &[HostThread] {
        &self.running.vcpus
    }

    /// The emulator's main thread.
    pub fn emulator(&self) -> &HostThread {
        &self.running.emulator
    }

    /// Settings that could not be had.
    pub fn caveats(&self) -> &[Caveat] {
        &self.running.caveats
    }

    /// How long it has been running.
    pub fn age(&self) -> Span {
        clock::now().since(self.began)
    }

    /// CPU time denied to the host while the guest measured, where it is known.
    pub fn host_steal(&self) -> Option<Span> {
        self.now.steal_since(&self.before)
    }

    /// What the guest's CPUs got of the host while it measured.
    pub fn vcpu_times(&self) -> Vec<VcpuTime> {
        self.now.vcpus_since(&self.before)
    }

    /// Waits until it has switched itself off, or ends it.
    pub fn switch_off(mut self) {
        let deadline = clock::now().plus(SWITCH_OFF);
        while clock::now() < deadline && !matches!(self.running.child.try_wait(), Ok(Some(_)) | Err(_)) {
            drop(clock::pause(Span::from_millis(20)));
        }
    }
}

impl Running {
    fn start(setup: &Setup<'_>, accelerator: Accelerator) -> Result<Self, GuestError> {
        let folder =
            tempfile::tempdir().map_err(|source| GuestError::Write { path: std::env::temp_dir(), source })?;
        let places = Places { folder: folder.path() };
        let packed = initramfs::pack(setup.program, setup.kernel, setup.errand)?;
        let write = |source| GuestError::Write { path: folder.path().to_owned(), source };
        std::fs::write(places.initramfs(), packed).map_err(write)?;
        let mut child = spawn(setup, accelerator, &places)?;
        let (sender, arrivals) = mpsc::channel();
        let said = listen(child.stderr.take(), &sender, Arrival::Said);
        listen(child.stdout.take(), &sender, Arrival::Console);
        let connected = connect_both(&mut child, &places).and_then(|(results, control)| {
            listen(Some(results), &sender, Arrival::Result);
            begin(child.id(), setup.settings, control)
        });
        match connected {
            Ok((control, threads)) => Ok(Self {
                child,
                accelerator,
                arrivals,
                vcpus: threads.vcpus,
                emulator: threads.emulator,
                caveats: threads.caveats,
                _control: control,
                _folder: folder,
            }),
            Err(error) => {
                drop(child.kill());
                drop(child.wait());
                drop(said.map(std::thread::JoinHandle::join));
                Err(GuestError::Emulator { said: last_words(&arrivals, &error) })
            }
        }
    }
}

/// In a group of its own, so that Ctrl-C reaches howlate alone; killed when howlate ends.
fn spawn(setup: &Setup<'_>, accelerator: Accelerator, places: &Places<'_>) -> Result<Child, GuestError> {
    let mut command = command(setup.machine, setup.kernel, accelerator, places);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    parent::dies_with_this_thread(&mut command);
    let (program, package) = setup.machine.architecture.emulator();
    command.spawn().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => GuestError::NoEmulator { program, package },
        _ => GuestError::Start { program: program.into(), source },
    })
}

fn connect_both(child: &mut Child, places: &Places<'_>) -> std::io::Result<(UnixStream, UnixStream)> {
    Ok((connect(child, &places.results())?, connect(child, &places.control())?))
}

/// QEMU makes its sockets when it is ready.
fn connect(child: &mut Child, socket: &Path) -> std::io::Result<UnixStream> {
    let deadline = clock::now().plus(Span::from_secs(30));
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return Ok(stream),
            Err(error) if clock::now() > deadline || child.try_wait()?.is_some() => return Err(error),
            Err(_) => clock::pause(Span::from_millis(10))?,
        }
    }
}

/// Sets the threads while nothing runs on them, then starts the guest.
fn begin(
    emulator: u32,
    settings: &HostSettings,
    control: UnixStream,
) -> std::io::Result<(Qmp, crate::host::Threads)> {
    let mut qmp = Qmp::begin(control)?;
    let threads = settings.apply(&qmp.vcpu_threads()?, emulator)?;
    qmp.start()?;
    Ok((qmp, threads))
}

/// Hands on the lines of a stream until it ends.
fn listen(
    stream: Option<impl Read + Send + 'static>,
    to: &Sender<Arrival>,
    kind: fn(String) -> Arrival,
) -> Option<std::thread::JoinHandle<()>> {
    let (stream, to) = (stream?, to.clone());
    Some(std::thread::spawn(move || {
        let mut lines = BufReader::new(stream).split(b'\n');
        while let Some(Ok(line)) = lines.next() {
            let text = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
            if to.send(kind(text)).is_err() {
                break;
            }
        }
    }))
}

/// What QEMU said before it gave up.
fn last_words(arrivals: &Receiver<Arrival>, error: &std::io::Error) -> String {
    let said = arrivals.try_iter().filter_map(|arrival| match arrival {
        Arrival::Said(line) => Some(line),
        Arrival::Console(_) | Arrival::Result(_) => None,
    });
    said.last().unwrap_or_else(|| error.to_string())
}

/// The emulator's version.
///
/// # Errors
///
/// When it is not installed.
pub fn emulator_version(machine: &Machine) -> Result<String, GuestError> {
    emulator::version(machine.architecture)
}

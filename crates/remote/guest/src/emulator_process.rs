//! QEMU as a process: its start, its streams, its end.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, SyncSender};

use howlate_linux::{clock, parent};
use howlate_model::{Accelerator, Caveat, HostThread, Span};
use howlate_safe_path::TemporaryFolder;

use crate::emulator::{GuestPaths, command};
use crate::error::GuestError;
use crate::initramfs;
use crate::qmp::Qmp;
use crate::setup::GuestSetup;
use crate::stops;
use crate::vcpu_threads::{HostSettings, VcpuThreads};

/// What arrives from QEMU's streams.
pub(crate) enum Arrival {
    Console(String),
    ErrorLine(String),
    Result(String),
}

/// The longest line of a recording, and of other output, in bytes; longer ones are cut.
const LONGEST_RESULT: usize = 8 << 20;
const LONGEST_LINE: usize = 4 << 10;

/// A guest that says more than is listened to has to wait.
const MOST_WAITING: usize = 16;

/// QEMU, and what is connected to it.
pub(crate) struct EmulatorProcess {
    child: Child,
    pub(crate) accelerator: Accelerator,
    pub(crate) arrivals: Receiver<Arrival>,
    pub(crate) vcpus: Vec<HostThread>,
    pub(crate) emulator: HostThread,
    pub(crate) caveats: Vec<Caveat>,
    /// Closing it would be noticed; the folder holds its socket.
    _control: Qmp,
    _folder: TemporaryFolder,
}

impl Drop for EmulatorProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl EmulatorProcess {
    pub(crate) fn start(setup: &GuestSetup<'_>, accelerator: Accelerator) -> Result<Self, GuestError> {
        let folder = TemporaryFolder::create()
            .map_err(|source| GuestError::Write { path: std::env::temp_dir(), source })?;
        let places = GuestPaths { folder: folder.path() };
        let packed = initramfs::pack(setup.program, setup.kernel, setup.command)?;
        let write = |source| GuestError::Write { path: folder.path().to_owned(), source };
        std::fs::write(places.initramfs(), packed).map_err(write)?;
        let mut child = spawn(setup, accelerator, &places)?;
        let (sender, arrivals) = mpsc::sync_channel(MOST_WAITING);
        listen(child.stderr.take(), &sender, (Arrival::ErrorLine, LONGEST_LINE));
        listen(child.stdout.take(), &sender, (Arrival::Console, LONGEST_LINE));
        let connected = connect_all(&mut child, &places).and_then(|(results, stops, control)| {
            stops::answer(stops, child.id())?;
            listen(Some(results), &sender, (Arrival::Result, LONGEST_RESULT));
            begin(child.id(), setup.settings, control)
        });
        drop(sender);
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
                Err(GuestError::Emulator { stderr: stderr_tail(&arrivals, &error) })
            }
        }
    }

    /// The signal that killed it, once its streams are closed; `None` where it ended by itself.
    pub(crate) fn killed_by(&mut self) -> Option<i32> {
        self.child.wait().ok().and_then(|status| status.signal())
    }

    /// Whether it runs no more.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }
}

/// In a group of its own, so that Ctrl-C reaches howlate alone; killed when howlate ends.
fn spawn(
    setup: &GuestSetup<'_>,
    accelerator: Accelerator,
    places: &GuestPaths<'_>,
) -> Result<Child, GuestError> {
    let mut command = command(setup.machine, setup.kernel, accelerator, places);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    parent::kill_with_this_thread(&mut command);
    let (program, package) = setup.machine.architecture.emulator();
    command.spawn().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => GuestError::NoEmulator { program, package },
        _ => GuestError::Start { program: program.into(), source },
    })
}

fn connect_all(
    child: &mut Child,
    places: &GuestPaths<'_>,
) -> io::Result<(UnixStream, UnixStream, UnixStream)> {
    let mut connect = |place: &Path| connect(child, place);
    Ok((connect(&places.results())?, connect(&places.stops())?, connect(&places.control())?))
}

/// QEMU makes its sockets when it is ready.
fn connect(child: &mut Child, socket: &Path) -> io::Result<UnixStream> {
    let deadline = clock::now().plus(Span::from_secs(30));
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return Ok(stream),
            Err(error) if clock::now() > deadline || child.try_wait()?.is_some() => return Err(error),
            Err(_) => clock::sleep_for(Span::from_millis(10))?,
        }
    }
}

/// Sets the threads while nothing runs on them, then starts the guest.
fn begin(emulator: u32, settings: &HostSettings, control: UnixStream) -> io::Result<(Qmp, VcpuThreads)> {
    let mut qmp = Qmp::begin(control)?;
    let threads = settings.apply(&qmp.vcpu_threads()?, emulator)?;
    qmp.start()?;
    Ok((qmp, threads))
}

/// Hands on the lines of a stream, of a kind and a length, until it ends.
fn listen(
    stream: Option<impl Read + Send + 'static>,
    to: &SyncSender<Arrival>,
    (kind, longest): (fn(String) -> Arrival, usize),
) {
    let Some(stream) = stream else { return };
    let to = to.clone();
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        while let Ok(Some(line)) = line(&mut stream, longest) {
            if to.send(kind(line)).is_err() {
                break;
            }
        }
    });
}

/// The next line, without its break; of one that is longer, so many bytes. `None` at the end.
fn line(from: &mut impl BufRead, longest: usize) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if from.by_ref().take(longest as u64).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        from.skip_until(b'\n')?;
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()))
}

/// What QEMU said before it gave up: all of it, as it runs no more.
fn stderr_tail(arrivals: &Receiver<Arrival>, error: &io::Error) -> String {
    let error_lines = arrivals.iter().filter_map(|arrival| match arrival {
        Arrival::ErrorLine(line) => Some(line),
        Arrival::Console(_) | Arrival::Result(_) => None,
    });
    error_lines.last().unwrap_or_else(|| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let endless = io::repeat(b'x').take(1 << 30);
        let mut stream = BufReader::new(endless.chain(&b"\n[    0.0] next\r\n\nlast"[..]));
        let mut next = || line(&mut stream, 16).unwrap();
        assert_eq!(next(), Some("x".repeat(16)));
        assert_eq!(next().as_deref(), Some("[    0.0] next"));
        assert_eq!(next().as_deref(), Some(""));
        assert_eq!(next().as_deref(), Some("last"));
        assert_eq!(next(), None);
    }

    #[test]
    fn who_says_too_much_waits_until_he_is_heard() {
        let (sender, arrivals) = mpsc::sync_channel(MOST_WAITING);
        let much = "a line\n".repeat(10 * MOST_WAITING);
        listen(Some(io::Cursor::new(much)), &sender, (Arrival::ErrorLine, LONGEST_LINE));
        drop(sender);
        let error_lines =
            arrivals.iter().filter(|arrival| matches!(arrival, Arrival::ErrorLine(line) if line == "a line"));
        assert_eq!(error_lines.count(), 10 * MOST_WAITING);
    }
}

//! Stops a guest's emulator for as long as the guest asks for: it checks what it makes of that.
//!
//! Not by the emulator's own `stop`: that stops the guest's clock as well, so that nothing is to be seen inside.
//!
//! ```text
//! guest   30000000 ──►            waits            ──► how long it was stopped
//! host             ──► SIGSTOP ─── 30 ms ─── SIGCONT ──►
//! ```

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use howlate_linux::clock;
use howlate_model::Span;
use howlate_procfs::{ProcessStat, Root};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A guest is not stopped for longer than this: it would be taken for hung.
const MOST: Span = Span::from_millis(500);

/// How often it is looked whether it is stopped, and how long it may take to be.
const LOOK_EVERY: Span = Span::from_micros(50);
const PATIENCE: Span = Span::from_secs(1);

/// An emulator that can be stopped.
struct Emulator {
    process: Pid,
    /// A number may become another process's.
    handle: OwnedFd,
}

/// Answers requests on `port` until it is closed.
pub(crate) fn answer(port: UnixStream, emulator: u32) -> io::Result<()> {
    let process = i32::try_from(emulator).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    let emulator = Emulator { process, handle: pidfd_open(process, PidfdFlags::empty())? };
    std::thread::spawn(move || {
        // It ends with the emulator.
        drop(serve(&port, |span| emulator.stop(span)));
    });
    Ok(())
}

fn serve(port: &UnixStream, mut stop: impl FnMut(Span) -> io::Result<Span>) -> io::Result<()> {
    for request in BufReader::new(port).lines() {
        let span = request?.trim().parse().map(Span::from_nanos).map_err(io::Error::other)?;
        let lasted = stop(span.min(MOST))?;
        let mut port = port;
        port.write_all(format!("{}\n", lasted.as_nanos()).as_bytes())?;
    }
    Ok(())
}

impl Emulator {
    /// Stops it for so long; returns how long it was stopped in the end.
    fn stop(&self, span: Span) -> io::Result<Span> {
        pidfd_send_signal(self.handle.as_fd(), Signal::STOP)?;
        let stopped = self.when_stopped().and_then(|from| clock::sleep_for(span).map(|()| from));
        let lasted = stopped.map(|from| clock::now().since(from));
        // Whatever went wrong.
        pidfd_send_signal(self.handle.as_fd(), Signal::CONT)?;
        lasted
    }

    fn when_stopped(&self) -> io::Result<howlate_model::MonotonicTime> {
        let (root, give_up) = (Root::live(), clock::now().plus(PATIENCE));
        while !ProcessStat::read(&root, self.process).is_some_and(|stat| stat.is_stopped()) {
            if clock::now() > give_up {
                return Err(io::ErrorKind::TimedOut.into());
            }
            clock::sleep_for(LOOK_EVERY)?;
        }
        Ok(clock::now())
    }
}

#[cfg(test)]
mod tests {
    use howlate_testing::SleepProcess;

    use super::*;

    fn request(port: &mut BufReader<UnixStream>, text: &str) -> String {
        port.get_mut().write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        port.read_line(&mut answer).unwrap();
        answer
    }

    #[test]
    fn it_is_stopped_as_long_as_asked_for_and_runs_on() {
        let sleeps = SleepProcess::new();
        let (guest, host) = UnixStream::pair().unwrap();
        answer(host, sleeps.0.id()).unwrap();
        let mut guest = BufReader::new(guest);
        let lasted: u64 = request(&mut guest, "5000000\n").trim().parse().unwrap();
        assert!(lasted >= 5_000_000, "{lasted}");
        let stat = ProcessStat::read(&Root::live(), Pid::from_child(&sleeps.0)).unwrap();
        assert!(!stat.is_stopped(), "it goes on before that is told");
        assert_eq!(request(&mut guest, "for ever\n"), "", "what is no request ends it");
    }

    #[test]
    fn no_guest_is_stopped_for_ever() {
        let (guest, host) = UnixStream::pair().unwrap();
        let served = std::thread::spawn(move || {
            let mut stopped = Vec::new();
            serve(&host, |span| {
                stopped.push(span);
                Ok(span)
            })
            .unwrap();
            stopped
        });
        let mut guest = BufReader::new(guest);
        assert_eq!(request(&mut guest, "18446744073709551615\n"), "500000000\n");
        drop(guest);
        assert_eq!(served.join().unwrap(), [MOST]);
    }
}

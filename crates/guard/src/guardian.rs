//! The process that puts settings back.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Write, stdin, stdout};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use howlate_linux::helper::{Ends, Helper};
use howlate_linux::signal;
use howlate_model::Caveat;
use serde::{Deserialize, Serialize};

/// The helper process that puts settings back.
pub const GUARDIAN: Helper = Helper { role: "__guardian", ends: Ends::WithItsInput, serve: |_| serve() };

/// Locked by the guardian, so that two runs cannot take each other's settings for the machine's own.
const LOCK: &str = "/run/lock/howlate-settings";

/// What a guardian answers.
#[derive(Serialize, Deserialize)]
enum Answer {
    Remembered,
    /// Another guardian is at work.
    Busy,
    /// At the end.
    NotRestored(Caveat),
}

/// What was there before.
#[derive(Serialize, Deserialize)]
struct Before {
    path: String,
    value: String,
}

/// A guardian, as seen from the process that measures.
pub(crate) struct Guardian {
    child: Child,
    /// Closing it makes the guardian put everything back.
    tell: ChildStdin,
    says: BufReader<ChildStdout>,
}

impl Guardian {
    pub(crate) fn start() -> io::Result<Self> {
        let mut child = GUARDIAN
            .command([])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (tell, says) = (child.stdin.take(), child.stdout.take());
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        Ok(Self { child, tell: tell.ok_or_else(missing)?, says: BufReader::new(says.ok_or_else(missing)?) })
    }

    /// Returns when the guardian knows it, so that the change may be made.
    pub(crate) fn remember(&mut self, path: &str, value: &str) -> io::Result<()> {
        let before = Before { path: path.to_owned(), value: value.to_owned() };
        writeln!(self.tell, "{}", serde_json::to_string(&before)?)?;
        let mut answer = String::new();
        self.says.read_line(&mut answer)?;
        match serde_json::from_str(&answer) {
            Ok(Answer::Remembered) => Ok(()),
            Ok(Answer::Busy) => {
                Err(io::Error::other("another howlate keeps settings changed; wait until it ends"))
            }
            _ => Err(io::Error::other("the process that would put it back is gone")),
        }
    }

    /// Has everything put back; tells what could not be.
    pub(crate) fn end(mut self) -> Vec<Caveat> {
        drop(self.tell);
        let said = self.says.lines().map_while(Result::ok);
        let caveat = |line: String| match serde_json::from_str(&line) {
            Ok(Answer::NotRestored(caveat)) => Some(caveat),
            _ => None,
        };
        let caveats = said.filter_map(caveat).collect();
        drop(self.child.wait());
        caveats
    }
}

/// Remembers what it is told, until nothing more can come; then puts it back, last change first.
fn serve() -> io::Result<()> {
    signal::block_all_but_wake_up();
    // Whoever may not write there may not change settings either.
    let lock = File::create(LOCK);
    let busy = lock.as_ref().is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
    let mut changed: Vec<Before> = Vec::new();
    for line in stdin().lock().lines().map_while(Result::ok) {
        if busy {
            return answer(&Answer::Busy);
        }
        changed.push(serde_json::from_str(&line)?);
        answer(&Answer::Remembered)?;
    }
    for caveat in changed.iter().rev().filter_map(put_back) {
        // Nobody hears this when the other process was killed.
        drop(answer(&Answer::NotRestored(caveat)));
    }
    Ok(())
}

fn answer(answer: &Answer) -> io::Result<()> {
    writeln!(stdout(), "{}", serde_json::to_string(answer)?)
}

fn put_back(before: &Before) -> Option<Caveat> {
    let written = std::fs::write(&before.path, &before.value);
    let reason = match written.and_then(|()| crate::read(&before.path)) {
        Ok(now) if now == before.value => return None,
        Ok(now) => format!("it is `{now}`"),
        Err(error) => error.to_string(),
    };
    Some(Caveat::SettingNotRestored { path: before.path.clone(), before: before.value.clone(), reason })
}

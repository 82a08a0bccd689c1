//! The protocol between host and guest: a file in the initramfs, and lines on a port.

use howlate_model::Line;
use serde::{Deserialize, Serialize};

/// The task of a guest; its presence means that this is a guest.
pub(crate) const TASK: &str = "/howlate-task.json";

/// The name of the port that results go through.
pub(crate) const PORT: &str = "howlate.results";

/// What the guest runs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GuestTask {
    /// Modules to load, in this order.
    pub(crate) modules: Vec<String>,
    /// The arguments that howlate gets inside.
    pub(crate) arguments: Vec<String>,
    /// Whether the result is what it prints, rather than a recording.
    pub(crate) prints: bool,
}

/// One line from the guest: a line of its recording, a sign that it lives, or the last of all.
#[derive(Debug)]
pub(crate) enum GuestMessage {
    Line(Box<Line>),
    Alive,
    Over(CommandEnd),
}

/// [`GuestMessage::Alive`], from a command that says nothing before its end.
pub(crate) const ALIVE: &str = "{\"alive\":true}\n";

/// The guest's command has ended.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommandEnd {
    pub(crate) exit_status: i32,
    #[serde(rename = "said")]
    pub(crate) stderr: String,
    /// Standard output, if that is the result.
    pub(crate) printed: String,
}

/// [`CommandEnd`] with its name, as lines of recordings have theirs.
#[derive(Serialize, Deserialize)]
struct Last {
    over: CommandEnd,
}

impl CommandEnd {
    pub(crate) fn into_line(self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(&Last { over: self })?;
        line.push(b'\n');
        Ok(line)
    }
}

impl GuestMessage {
    /// Reads one line. It does not try both kinds: a line of a recording has numbers that do not
    /// survive being read twice.
    pub(crate) fn parse(line: &str) -> serde_json::Result<Self> {
        if line.trim_end() == ALIVE.trim_end() {
            return Ok(Self::Alive);
        }
        if line.starts_with("{\"over\":") {
            return Ok(Self::Over(serde_json::from_str::<Last>(line)?.over));
        }
        Line::from_json(line).map(|line| Self::Line(Box::new(line)))
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Block, MonotonicTime, Span, Wakeup, WakeupGrid};

    use super::*;

    #[test]
    fn lines_of_the_recording_and_the_last_one_are_told_apart() {
        let over = CommandEnd { exit_status: 3, stderr: "a \"word\"\n".into(), printed: "a\tb".into() };
        let line = String::from_utf8(over.into_line().unwrap()).unwrap();
        assert!(
            matches!(GuestMessage::parse(line.trim_end()), Ok(GuestMessage::Over(over)) if over.exit_status == 3 && over.printed == "a\tb")
        );
        let mut block = Block::default();
        let ran = MonotonicTime::from_nanos(60);
        let grid = Some(WakeupGrid::endless(Span::from_nanos(100)));
        block.record(Wakeup { expected: MonotonicTime::from_nanos(10), ran }, grid);
        let line = serde_json::to_string(&Line::Block(Box::new(block.clone()))).unwrap();
        assert!(
            matches!(GuestMessage::parse(&line), Ok(GuestMessage::Line(got)) if *got == Line::Block(Box::new(block)))
        );
        assert!(matches!(GuestMessage::parse(ALIVE.trim_end()), Ok(GuestMessage::Alive)));
        assert!(GuestMessage::parse("{\"alive\":1}").is_err());
        assert!(GuestMessage::parse("[    1.0] a message of the kernel").is_err());
    }
}

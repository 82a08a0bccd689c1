//! What `fuzz/` feeds: everything that a guest can send.

use howlate_model::Line;

use crate::protocol::GuestMessage;

/// Reads what a guest sent, up to what is no line; gives the lines of its recording.
pub fn lines(text: &str) -> Vec<Line> {
    let messages = text.lines().map_while(|line| GuestMessage::parse(line).ok());
    let line = |message| match message {
        GuestMessage::Line(line) => Some(*line),
        GuestMessage::Alive | GuestMessage::Over(_) => None,
    };
    messages.filter_map(line).collect()
}

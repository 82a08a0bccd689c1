//! What `fuzz/` feeds: everything that a guest can send.

use howlate_model::{Line, Load, MonotonicTime, OnHost};

use crate::task::Message;
use crate::{Kind, Merge};

/// Reads lines, up to one that is none, and merges them with those of other guests.
pub fn line(text: &str) {
    let mut merge = None;
    for message in text.lines().map_while(|line| Message::parse(line).ok()) {
        match (message, &mut merge) {
            (Message::Line(line), merge) => merged(*line, merge),
            (Message::Over(_), _) => {}
        }
    }
}

fn merged(line: Line, merge: &mut Option<Merge>) {
    match (line, merge) {
        (Line::Header(header), merge) => {
            let kind = |kernel: &str| Kind {
                kernel: kernel.to_owned(),
                on_host: OnHost { load: Load::IDLE, vcpu_policy: None },
            };
            let merge = merge.get_or_insert_with(|| Merge::new(vec![kind("a"), kind("b")], &header));
            let same = merge.boot(1, &header, MonotonicTime::from_nanos(7)).is_ok();
            assert!(!same || merge.conditions().len() == 2 * header.conditions.len());
        }
        (line, Some(merge)) => drop(merge.line(line)),
        _ => {}
    }
}

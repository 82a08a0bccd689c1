//! What the maker of a class is to be called.

use howlate_model::InjectedCause;

use super::class::Class;
use super::request::{Order, Part};

/// What others see the thread as; at most 15 bytes.
pub(crate) fn name(order: &Order) -> String {
    match (order.part, order.class) {
        (Part::Measured, _) => "howlate-late".to_owned(),
        (Part::Maker(number), class) => {
            let what = match class {
                Class::Thread => "hog",
                Class::Competitors => "rival",
                Class::Stopped => "stop",
                Class::Throttled => "spend",
                Class::OtherTimers => "herd",
                Class::MachineStopped => "halt",
                _ => "flood",
            };
            format!("howlate-{what}{number}")
        }
    }
}

/// What the maker of `order` is to be called: itself, where a thread is to blame.
pub(crate) fn known(order: &Order) -> InjectedCause {
    let (name, pid) = match order.class {
        Class::Thread | Class::Competitors | Class::Stopped => (name(order), Some(std::process::id())),
        Class::Softirq => ("NET_RX".to_owned(), None),
        _ => (String::new(), None),
    };
    InjectedCause { kind: order.class.kind(), name, pid, stamps: Vec::new() }
}
